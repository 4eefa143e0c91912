"""Whether a run in 16 bits learns what one in float32 learns: validation losses over seeds.

    python3 bench/learning.py --text input.txt --snug build/release/snug \
        --nanogpt path/to/nanoGPT --python path/to/venv/bin/python --seeds 3 --iters 500

Trains nanoGPT's CPU example (4 layers, 128 wide, 12 x 64 characters) on a text, split 9 to 1 as nanoGPT
does, with Snug in each precision and with PyTorch in float32 and under autocast in bfloat16, each from
several seeds, on one thread. Prints a Markdown table. Without --nanogpt only Snug runs. PyTorch's runs
are this file again, as a child of the interpreter that has torch.
"""

from __future__ import annotations

import argparse
import array
import json
import math
import pickle
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SHAPE = {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "dropout": 0.0, "bias": False}
BATCH, EVAL_ITERS = 12, 200
RATE, LEAST_RATE, WARMUP, BETAS, DECAY, CLIP = 1e-3, 1e-4, 50, (0.9, 0.99), 0.1, 1.0
STEP_LINE = re.compile(r"^step (\d+): train loss ([\d.]+), val loss ([\d.]+)", re.MULTILINE)


def write_dataset(text: Path, folder: Path) -> int:
    """train.bin, val.bin and meta.pkl of a text's characters; returns how many there are."""
    folder.mkdir(parents=True)
    content = text.read_text()
    letters = sorted(set(content))
    ids = {letter: i for i, letter in enumerate(letters)}
    tokens = array.array("H", (ids[letter] for letter in content))
    border = int(len(tokens) * 0.9)
    (folder / "train.bin").write_bytes(tokens[:border].tobytes())
    (folder / "val.bin").write_bytes(tokens[border:].tobytes())
    meta = {"vocab_size": len(letters), "stoi": ids, "itos": dict(enumerate(letters))}
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))
    return len(letters)


def snug_loss(args: argparse.Namespace, folder: Path, dtype: str, seed: int) -> float:
    settings = SHAPE | {
        "dataset": "text",
        "out_dir": f"out-{dtype}-{seed}",
        "device": "cpu",
        "dtype": dtype,
        "seed": seed,
        "threads": 1,
        "batch_size": BATCH,
        "gradient_accumulation_steps": 1,
        "max_iters": args.iters,
        "lr_decay_iters": args.iters,
        "warmup_iters": WARMUP,
        "learning_rate": RATE,
        "min_lr": LEAST_RATE,
        "beta2": BETAS[1],
        "weight_decay": DECAY,
        "eval_interval": args.iters,
        "eval_iters": EVAL_ITERS,
        "log_interval": 100,
    }
    command = [str(args.snug.resolve()), "train"]
    command += [f"--{key}={value}" for key, value in settings.items()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    losses = STEP_LINE.findall(done.stdout)
    if done.returncode != 0 or int(losses[-1][0]) != args.iters:
        raise RuntimeError(f"snug: exit {done.returncode}:\n{done.stdout[-800:]}{done.stderr[-800:]}")
    return float(losses[-1][2])


def pytorch_loss(args: argparse.Namespace, folder: Path, dtype: str, seed: int) -> float:
    request = {
        "nanogpt": str(args.nanogpt.resolve()),
        "data": str(folder / "data" / "text"),
        "vocab_size": args.vocab_size,
        "iters": args.iters,
        "dtype": dtype,
        "seed": seed,
    }
    command = [args.python, __file__, "--child", json.dumps(request)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"PyTorch: exit {done.returncode}:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def learning_rate(iteration: int, iters: int) -> float:
    """nanoGPT's: linear warmup, then a cosine."""
    if iteration < WARMUP:
        return RATE * (iteration + 1) / (WARMUP + 1)
    share = (iteration - WARMUP) / (iters - WARMUP)
    return LEAST_RATE + 0.5 * (1 + math.cos(math.pi * share)) * (RATE - LEAST_RATE)


def train_pytorch(request: dict) -> float:
    """nanoGPT's model and optimizer, its loop; the loss on the validation split at the end."""
    import contextlib

    import torch

    sys.path.insert(0, request["nanogpt"])
    with contextlib.redirect_stdout(sys.stderr):
        from model import GPT, GPTConfig

        torch.set_num_threads(1)
        torch.manual_seed(request["seed"])
        model = GPT(GPTConfig(vocab_size=request["vocab_size"], **SHAPE))
        optimizer = model.configure_optimizers(DECAY, RATE, BETAS, "cpu")
    rounded = request["dtype"] == "bfloat16"
    context = torch.autocast("cpu", torch.bfloat16) if rounded else contextlib.nullcontext()

    def tokens_of(split: str) -> torch.Tensor:
        words = array.array("H", (Path(request["data"]) / f"{split}.bin").read_bytes())
        return torch.tensor(words.tolist())

    def batch(tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        T = SHAPE["block_size"]
        starts = torch.randint(len(tokens) - T, (BATCH,)).tolist()
        lines = torch.stack([tokens[s : s + T + 1] for s in starts])
        return lines[:, :-1].contiguous(), lines[:, 1:].contiguous()

    train, val = tokens_of("train"), tokens_of("val")
    for iteration in range(request["iters"]):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(iteration, request["iters"])
        with context:
            _, loss = model(*batch(train))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    model.eval()
    with torch.no_grad(), context:
        losses = [model(*batch(val))[1].item() for _ in range(EVAL_ITERS)]
    return statistics.mean(losses)


def row(name: str, losses: list[float]) -> str:
    spread = statistics.stdev(losses) if len(losses) > 1 else 0.0
    each = ", ".join(f"{loss:.4f}" for loss in losses)
    return f"| {name} | {statistics.mean(losses):.4f} | {spread:.4f} | {each} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Validation losses by precision, over seeds.")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--text", type=Path, help="a text to learn, e.g. tiny Shakespeare")
    parser.add_argument("--snug", type=Path, default=Path("build/release/snug"))
    parser.add_argument("--nanogpt", type=Path, help="a nanoGPT checkout")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iters", type=int, default=500)
    args = parser.parse_args()
    if args.child:
        print(train_pytorch(json.loads(args.child)))
        return
    if args.text is None:
        parser.error("--text names what is to be learnt")
    runs = [("Snug", dtype, snug_loss) for dtype in ("float32", "bfloat16", "float16")]
    if args.nanogpt:
        runs += [("PyTorch", dtype, pytorch_loss) for dtype in ("float32", "bfloat16")]
    results: dict[str, list[float]] = {f"{who} {dtype}": [] for who, dtype, _ in runs}
    with tempfile.TemporaryDirectory(prefix="snug-learning-") as name:
        args.vocab_size = write_dataset(args.text, Path(name) / "data" / "text")
        for seed in range(1, args.seeds + 1):
            for who, dtype, run in runs:
                loss = run(args, Path(name), dtype, seed)
                results[f"{who} {dtype}"].append(loss)
                print(f"seed {seed}: {who} {dtype} {loss:.4f}", file=sys.stderr, flush=True)
    print("| run | mean validation loss | spread over seeds | each seed |\n|---|---|---|---|")
    print("\n".join(row(name, losses) for name, losses in results.items()))


if __name__ == "__main__":
    main()
