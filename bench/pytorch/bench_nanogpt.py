"""Times nanoGPT's training step on the CPU with PyTorch: the yardstick beside Snug.

    python bench/pytorch/bench_nanogpt.py --nanogpt path/to/nanoGPT --n_layer 4 --n_head 4 \
        --n_embd 128 --block_size 64 --batch_size 12 --vocab_size 65 --iters 20

Imports model.py from a nanoGPT checkout that the user provides, repeats the step of its train.py
(forward, backward, clip, AdamW, zero_grad) on random tokens, in float32 or, as train.py does it with
dtype='bfloat16', under autocast. Prints one JSON object to stdout, everything else to stderr. No evaluation, no checkpoints, no gradient accumulation.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType

import torch

MIB = 1024 * 1024
WEIGHT_DECAY, LEARNING_RATE, BETAS, GRAD_CLIP = 0.1, 6e-4, (0.9, 0.95), 1.0  # train.py's


def memory_bytes(field: str) -> int:
    """A field of /proc/self/status: VmRSS (now) or VmHWM (peak)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def parse_bool(text: str) -> bool:
    if text not in ("True", "False"):
        raise argparse.ArgumentTypeError("True or False")
    return text == "True"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time nanoGPT's training step on the CPU.")
    parser.add_argument("--nanogpt", type=Path, required=True, help="a nanoGPT checkout")
    for name in ("n_layer", "n_head", "n_embd", "block_size", "batch_size", "vocab_size"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--bias", type=parse_bool, default=False)
    parser.add_argument("--iters", type=int, default=10, help="timed iterations")
    parser.add_argument("--warmup", type=int, default=2, help="untimed iterations before them")
    parser.add_argument("--threads", type=int, help="PyTorch's own choice unless given")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager")
    parser.add_argument(
        "--memory_only",
        action="store_true",
        help="for the peak alone: AdamW's states are made before the first iteration, and the "
        "compiled model's products are left out, whose results are allocated all the same",
    )
    args = parser.parse_args()
    if args.memory_only and not args.compile:
        parser.error("--memory_only is for --compile: eager products cannot be left out")
    return args


def import_model(checkout: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("nanogpt_model", checkout / "model.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def build(args: argparse.Namespace) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    nanogpt = import_model(args.nanogpt)
    sizes = ("n_layer", "n_head", "n_embd", "block_size", "vocab_size", "dropout", "bias")
    model = nanogpt.GPT(nanogpt.GPTConfig(**{key: getattr(args, key) for key in sizes}))
    optimizer = model.configure_optimizers(WEIGHT_DECAY, LEARNING_RATE, BETAS, "cpu")
    return (torch.compile(model) if args.compile else model), optimizer


def make_states(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """As an update by gradients of zero leaves them: the first iteration then has every one's peak."""
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def leave_products_out() -> None:
    """The products that compiled code calls write zeros where their results go."""
    from torch._inductor.select_algorithm import extern_kernels

    for name in ("mm", "addmm", "bmm"):
        getattr(extern_kernels, name)  # another PyTorch may call them otherwise
        setattr(extern_kernels, name, lambda *_, out, **__: out.zero_())


def random_batch(args: argparse.Namespace) -> tuple[torch.Tensor, torch.Tensor]:
    stream = torch.randint(args.vocab_size, (args.batch_size, args.block_size + 1))
    return stream[:, :-1].contiguous(), stream[:, 1:].contiguous()


def train(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, args: argparse.Namespace
) -> tuple[list[float], float]:
    """Milliseconds of every iteration, warm-up included, and the last loss.

    As in train.py, the logits stay referenced until the next forward replaces them: that is part
    of nanoGPT's peak.
    """
    model.train()
    in_bfloat16 = args.dtype == "bfloat16"
    context = torch.autocast("cpu", torch.bfloat16) if in_bfloat16 else contextlib.nullcontext()
    times = []
    x, y = random_batch(args)
    for _ in range(args.warmup + args.iters):
        start = time.perf_counter()
        with context:
            logits, loss = model(x, y)
        x, y = random_batch(args)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), GRAD_CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last_loss = loss.item()
        times.append(1000 * (time.perf_counter() - start))
    return times, last_loss


def main() -> None:
    args = parse_arguments()
    rss_after_import = memory_bytes("VmRSS")
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(1337)
    with contextlib.redirect_stdout(sys.stderr):
        model, optimizer = build(args)
        if args.memory_only:
            make_states(model, optimizer)
            leave_products_out()
        times, last_loss = train(model, optimizer, args)
    timed = times[args.warmup :]
    median = statistics.median(timed)
    report = {
        "torch": torch.__version__,
        "mode": "compile" if args.compile else "eager",
        "dtype": args.dtype,
        "threads": torch.get_num_threads(),
        "median_ms": round(median, 2),
        "min_ms": round(min(timed), 2),
        "each_ms": [round(t, 2) for t in timed],
        "warmup_ms": [round(t, 2) for t in times[: args.warmup]],
        "tokens_per_second": round(args.batch_size * args.block_size / median * 1000, 1),
        "peak_rss_mib": round(memory_bytes("VmHWM") / MIB, 1),
        "rss_after_import_mib": round(rss_after_import / MIB, 1),
        "last_loss": round(last_loss, 4),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
