"""Compares Snug with PyTorch running nanoGPT, on this machine, and prints a Markdown table.

    python3 bench/compare.py --snug build/release/snug --nanogpt path/to/nanoGPT \
        --python path/to/venv/bin/python --shape nanogpt-cpu --shape gpt2-124m --rounds 3

Both train the same shape on random tokens in fp32, in turns (Snug, PyTorch, Snug, ...), so that a
noisy neighbour hits both; a round's ratio is taken within the round. Peak memory is the resident
peak of the whole process. This file needs the standard library only; PyTorch is in the child.
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


def snug_command(snug: Path, work: Work) -> list[str]:
    """snug train with nanoGPT's keys. max_iters + 1 updates are made; evaluation only at iter 0."""
    settings: dict[str, object] = dataclasses.asdict(work.shape)
    del settings["vocab_size"]
    settings |= {
        "dataset": "random",
        "out_dir": "out",
        "device": "cpu",
        "dtype": "float32",
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


def run_snug(snug: Path, work: Work) -> Measurement:
    """Trains in a temporary folder; times from the log lines, memory from the kernel.

    ru_maxrss starts at this script's own size (some 15 MB), so smaller peaks cannot be seen.
    """
    with tempfile.TemporaryDirectory(prefix="snug-bench-") as folder:
        write_dataset(Path(folder) / "data" / "random", work.shape)
        log = Path(folder) / "log"
        with log.open("w") as file:
            child = subprocess.Popen(
                snug_command(snug.resolve(), work), cwd=folder, stdout=file, stderr=file
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


def run_pytorch(python: str, nanogpt: Path, work: Work, compiled: bool) -> Measurement:
    settings = dataclasses.asdict(work.shape)
    settings |= {"iters": work.iters, "warmup": work.warmup, "threads": work.threads}
    command = [python, str(PYTORCH_BENCH), f"--nanogpt={nanogpt}"]
    command += [f"--{key}={value}" for key, value in settings.items()]
    command += ["--compile"] if compiled else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"PyTorch: exit {done.returncode}:\n{done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    return Measurement(report["median_ms"], int(report["peak_rss_mib"] * MIB))


# --- Comparison -----------------------------------------------------------------------------------


def measure(work: Work, args: argparse.Namespace) -> list[tuple[Measurement, Measurement]]:
    """(Snug, PyTorch) of every round, in turns."""
    rounds = []
    for index in range(args.rounds):
        snug = run_snug(args.snug, work)
        pytorch = run_pytorch(args.python, args.nanogpt, work, args.compile)
        rounds.append((snug, pytorch))
        print(
            f"round {index + 1}: Snug {snug.median_ms:.1f} ms, PyTorch {pytorch.median_ms:.1f} ms",
            file=sys.stderr,
        )
    return rounds


def spread(values: list[float], digits: int) -> str:
    """Median, with the range if there is one."""
    middle = f"{statistics.median(values):.{digits}f}"
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return middle if low == high else f"{middle} ({low}–{high})"


def table_row(name: str, shape: Shape, rounds: list[tuple[Measurement, Measurement]]) -> str:
    def rates(side: int) -> str:
        return spread([shape.tokens() / r[side].median_ms * 1000 for r in rounds], 0)

    def peaks(side: int) -> str:
        return spread([r[side].peak_bytes / MIB for r in rounds], 0)

    cells = [
        name,
        rates(0),
        rates(1),
        spread([pytorch.median_ms / snug.median_ms for snug, pytorch in rounds], 2),
        peaks(0),
        peaks(1),
        spread([snug.peak_bytes / pytorch.peak_bytes for snug, pytorch in rounds], 2),
    ]
    return "| " + " | ".join(cells) + " |"


def table_head(compiled: bool) -> str:
    other = "PyTorch compiled" if compiled else "PyTorch"
    cells = ["shape"]
    cells += ["Snug tokens/s", f"{other} tokens/s", "speed ratio"]
    cells += ["Snug peak MiB", f"{other} peak MiB", "memory ratio"]
    return "| " + " | ".join(cells) + " |\n" + "|---" * len(cells) + "|"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Snug with nanoGPT on PyTorch.")
    parser.add_argument("--snug", type=Path, default=Path("build/release/snug"))
    parser.add_argument("--nanogpt", type=Path, required=True, help="a nanoGPT checkout")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="repeatable; default all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iters", type=int, help="timed iterations per run (5; nanogpt-cpu 100)")
    parser.add_argument("--warmup", type=int, default=2, help="untimed iterations; at least 1")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--compile", action="store_true", help="PyTorch with torch.compile")
    parser.add_argument("--batch_size", type=int, help="overrides the shapes' own")
    parser.add_argument("--dropout", type=float, help="overrides the shapes' own")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one of Snug's own keys, e.g. recompute_light=False; repeatable",
    )
    return parser.parse_args()


def overridden(shape: Shape, args: argparse.Namespace) -> Shape:
    given = {key: getattr(args, key) for key in ("batch_size", "dropout")}
    return dataclasses.replace(shape, **{k: v for k, v in given.items() if v is not None})


def main() -> None:
    args = parse_arguments()
    rows = []
    for name in args.shape or SHAPES:
        shape = overridden(SHAPES[name], args)
        iters = args.iters or DEFAULT_ITERS.get(name, 5)
        warmup = max(args.warmup, 1)  # iter 0 holds the evaluation
        work = Work(shape, iters, warmup, args.threads, tuple(args.setting))
        print(f"{name}: {shape}", file=sys.stderr)
        rows.append(table_row(name, shape, measure(work, args)))
    print("\n".join([table_head(args.compile), *rows]))


if __name__ == "__main__":
    main()
