"""Compares Snug with PyTorch running nanoGPT, on this machine, and prints a Markdown table.

    python3 bench/compare.py --snug build/release/snug --nanogpt path/to/nanoGPT \
        --python path/to/venv/bin/python --shape nanogpt-cpu --shape gpt2-124m --rounds 3

All train the same shape on random tokens, one after the other, round by round (Snug in float32, Snug
in bfloat16, PyTorch in each of its modes, Snug in float32, ...), so that a noisy neighbour hits all; a
round's ratio is taken within the round, against the PyTorch mode with the best median. Peak memory is
the resident peak of the whole process. This file needs the standard library only; PyTorch is in the
child.
"""

from __future__ import annotations

import argparse
import array
import dataclasses
import json
import os
import pickle
import random
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
NANOGPT_VOCAB_SIZE = 50304  # without meta.pkl
PYTORCH_BENCH = Path(__file__).parent / "pytorch" / "bench_nanogpt.py"


@dataclass(frozen=True)
class Shape:
    """One benchmark's work; the field names are nanoGPT's config keys."""

    n_layer: int
    n_head: int
    n_embd: int
    block_size: int
    batch_size: int
    vocab_size: int
    dropout: float = 0.0
    bias: bool = False

    def tokens(self) -> int:
        return self.batch_size * self.block_size


@dataclass(frozen=True)
class Mode:
    """Who trains, and how. Its name is what the tables say."""

    name: str
    dtype: str
    is_snug: bool = False
    compiled: bool = False


MODES = {
    mode.name: mode
    for mode in (
        Mode("snug-fp32", "float32", is_snug=True),
        Mode("snug-bf16", "bfloat16", is_snug=True),
        Mode("snug-fp16", "float16", is_snug=True),
        Mode("torch-fp32-eager", "float32"),
        Mode("torch-fp32-compiled", "float32", compiled=True),
        Mode("torch-bf16-eager", "bfloat16"),
        Mode("torch-bf16-compiled", "bfloat16", compiled=True),
    )
}
DEFAULT_MODES = [name for name in MODES if name != "snug-fp16"]


@dataclass(frozen=True)
class Work:
    """A shape and how long to run it."""

    shape: Shape
    iters: int
    warmup: int
    threads: int
    snug_settings: tuple[str, ...] = ()  # key=value, beyond the defaults


@dataclass(frozen=True)
class Measurement:
    """One process's result: the median iteration and the resident peak."""

    median_ms: float
    peak_bytes: int


SHAPES = {
    "gpt2-124m": Shape(12, 12, 768, 1024, 2, 50304),
    "nanogpt-cpu": Shape(4, 4, 128, 64, 12, 65),
    "shakespeare-char": Shape(6, 6, 384, 256, 64, 65, dropout=0.2),
    "shakespeare-char-nodrop": Shape(6, 6, 384, 256, 64, 65),
}
DEFAULT_ITERS = {"nanogpt-cpu": 100}
ITER_LINE = re.compile(r"^iter (\d+): loss \S+, time ([\d.]+)ms", re.MULTILINE)


# --- Snug: everything that knows its command line -------------------------------------------------


def write_dataset(folder: Path, shape: Shape) -> None:
    """Random tokens as nanoGPT's train.bin and val.bin, with a meta.pkl where it needs one."""
    folder.mkdir(parents=True)
    count = 16 * shape.tokens() + 1
    rng = random.Random(1337)
    tokens = array.array("H", (rng.randrange(shape.vocab_size) for _ in range(count)))
    if sys.byteorder == "big":
        tokens.byteswap()
    for split in ("train", "val"):
        (folder / f"{split}.bin").write_bytes(tokens.tobytes())
    if shape.vocab_size != NANOGPT_VOCAB_SIZE:
        letters = {i: chr(0x100 + i) for i in range(shape.vocab_size)}
        meta = {
            "vocab_size": shape.vocab_size,
            "itos": letters,
            "stoi": {letter: i for i, letter in letters.items()},
        }
        (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


def snug_command(snug: Path, work: Work, dtype: str) -> list[str]:
    """snug train with nanoGPT's keys. max_iters + 1 updates are made; evaluation only at iter 0."""
    settings: dict[str, object] = dataclasses.asdict(work.shape)
    del settings["vocab_size"]
    settings |= {
        "dataset": "random",
        "out_dir": "out",
        "device": "cpu",
        "dtype": dtype,
        "gradient_accumulation_steps": 1,
        "max_iters": work.warmup + work.iters - 1,
        "log_interval": 1,
        "eval_iters": 1,
        "eval_interval": 10**9,
        "always_save_checkpoint": False,
        "threads": work.threads,
    }
    words = [f"{key}={value}" for key, value in settings.items()] + list(work.snug_settings)
    return [str(snug), "train"] + [f"--{word}" for word in words]


def run_snug(snug: Path, work: Work, dtype: str) -> Measurement:
    """Trains in a temporary folder; times from the log lines, memory from the kernel.

    ru_maxrss starts at this script's own size (some 15 MB), so smaller peaks cannot be seen.
    """
    with tempfile.TemporaryDirectory(prefix="snug-bench-") as folder:
        write_dataset(Path(folder) / "data" / "random", work.shape)
        log = Path(folder) / "log"
        with log.open("w") as file:
            child = subprocess.Popen(
                snug_command(snug.resolve(), work, dtype), cwd=folder, stdout=file, stderr=file
            )
            _, status, usage = os.wait4(child.pid, 0)
        text = log.read_text()
    child.returncode = os.waitstatus_to_exitcode(status)
    times = [float(ms) for index, ms in ITER_LINE.findall(text) if int(index) >= work.warmup]
    if child.returncode != 0 or len(times) != work.iters:
        raise RuntimeError(
            f"snug: exit {child.returncode}, {len(times)} iterations:\n{text[-2000:]}"
        )
    return Measurement(statistics.median(times), usage.ru_maxrss * 1024)


# --- PyTorch --------------------------------------------------------------------------------------


def run_pytorch(python: str, nanogpt: Path, work: Work, mode: Mode) -> Measurement:
    settings = dataclasses.asdict(work.shape)
    settings |= {"iters": work.iters, "warmup": work.warmup, "threads": work.threads}
    settings |= {"dtype": mode.dtype}
    command = [python, str(PYTORCH_BENCH), f"--nanogpt={nanogpt}"]
    command += [f"--{key}={value}" for key, value in settings.items()]
    command += ["--compile"] if mode.compiled else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"PyTorch: exit {done.returncode}:\n{done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    return Measurement(report["median_ms"], int(report["peak_rss_mib"] * MIB))


# --- Comparison -----------------------------------------------------------------------------------


Round = dict[str, Measurement]  # by the mode's name


def measure(work: Work, args: argparse.Namespace, modes: list[Mode]) -> list[Round]:
    """Every mode once a round, in turns."""
    rounds: list[Round] = []
    for index in range(args.rounds):
        done: Round = {}
        for mode in modes:
            if mode.is_snug:
                done[mode.name] = run_snug(args.snug, work, mode.dtype)
            else:
                done[mode.name] = run_pytorch(args.python, args.nanogpt, work, mode)
            ms = done[mode.name].median_ms
            print(f"round {index + 1}: {mode.name} {ms:.1f} ms", file=sys.stderr, flush=True)
        rounds.append(done)
    return rounds


def spread(values: list[float], digits: int) -> str:
    """Median, with the range if there is one."""
    middle = f"{statistics.median(values):.{digits}f}"
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return middle if low == high else f"{middle} ({low}–{high})"


def best_of_pytorch(modes: list[Mode], rounds: list[Round]) -> str | None:
    """The mode with the shortest median of all rounds."""
    names = [mode.name for mode in modes if not mode.is_snug]
    return min(
        names, key=lambda n: statistics.median(r[n].median_ms for r in rounds), default=None
    )


def ratio(rounds: list[Round], of: str | None, to: str | None, key: str) -> str:
    """Within each round."""
    if of is None or to is None or of == to:
        return "–"
    return spread([getattr(r[of], key) / getattr(r[to], key) for r in rounds], 2)


def table(name: str, shape: Shape, modes: list[Mode], rounds: list[Round]) -> str:
    """One row per mode; both ratios are to PyTorch's fastest mode."""
    best = best_of_pytorch(modes, rounds)
    cells = ["mode", "ms per iteration", "tokens/s", "peak MiB", "speed ratio", "memory ratio"]
    lines = [f"{name}: {shape.batch_size} x {shape.block_size} tokens, dropout {shape.dropout:g}; "]
    lines[0] += f"ratios to {best}" if best else "no PyTorch to compare with"
    lines += ["", "| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]
    for mode in modes:
        taken = [r[mode.name] for r in rounds]
        row = [
            mode.name,
            spread([m.median_ms for m in taken], 1),
            spread([shape.tokens() / m.median_ms * 1000 for m in taken], 0),
            spread([m.peak_bytes / MIB for m in taken], 0),
            ratio(rounds, best, mode.name, "median_ms"),
            ratio(rounds, mode.name, best, "peak_bytes"),
        ]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Snug with nanoGPT on PyTorch.")
    parser.add_argument("--snug", type=Path, default=Path("build/release/snug"))
    parser.add_argument("--nanogpt", type=Path, help="a nanoGPT checkout; for PyTorch's modes")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="repeatable; default all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iters", type=int, help="timed iterations per run (5; nanogpt-cpu 100)")
    parser.add_argument("--warmup", type=int, default=2, help="untimed iterations; at least 1")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--mode", action="append", choices=MODES, help="repeatable; default all but snug-fp16"
    )
    parser.add_argument("--batch_size", type=int, help="overrides the shapes' own")
    parser.add_argument("--dropout", type=float, help="overrides the shapes' own")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one of Snug's own keys, e.g. recompute_light=False; repeatable",
    )
    args = parser.parse_args()
    args.mode = args.mode or DEFAULT_MODES
    if args.nanogpt is None and any(not MODES[name].is_snug for name in args.mode):
        parser.error("PyTorch's modes need --nanogpt, a checkout; or --mode=snug-...")
    return args


def overridden(shape: Shape, args: argparse.Namespace) -> Shape:
    given = {key: getattr(args, key) for key in ("batch_size", "dropout")}
    return dataclasses.replace(shape, **{k: v for k, v in given.items() if v is not None})


def main() -> None:
    args = parse_arguments()
    modes = [MODES[name] for name in args.mode]
    for name in args.shape or SHAPES:
        shape = overridden(SHAPES[name], args)
        iters = args.iters or DEFAULT_ITERS.get(name, 5)
        warmup = max(args.warmup, 1)  # iter 0 holds the evaluation
        work = Work(shape, iters, warmup, args.threads, tuple(args.setting))
        print(f"{name}: {shape}", file=sys.stderr)
        print(table(name, shape, modes, measure(work, args, modes)), flush=True)


if __name__ == "__main__":
    main()
