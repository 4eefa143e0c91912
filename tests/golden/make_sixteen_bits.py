"""How far PyTorch in bfloat16 is from the golden fixtures' truth: sixteen_bits.safetensors.

Run by hand after make_golden.py, in the same environment:

    .venv/bin/python tests/golden/make_sixteen_bits.py --out tests/golden

For each case the first step is made in two ways: under torch.autocast, as nanoGPT trains (float32
weights, residual stream and norms, bfloat16 products), and with everything but the losses in
bfloat16. Stored is the larger distance from the float64 truth, by the names of make_golden.py:
CASE/logits, CASE/losses, CASE/loss and CASE/grad/P, (1) float32 each. A run in 16 bits is right if
it is as near as a few times that.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import fixture_file
import torch
from make_golden import CASES, Case, make_inputs, to_numpy
from reference_gpt import Params, Variant, copy_gradients, forward, row_losses

# "sharp" saturates its softmaxes: there a rounded logit decides everything.
NAMES = ("one_head", "head3_accumulate", "head8_long", "unclipped", "head64_pair", "head128")


def first_step(item: Case, dtype: torch.dtype, autocast: bool) -> dict[str, torch.Tensor]:
    """Logits, losses and gradients of step 0."""
    weights, x, y = make_inputs(item)
    params: Params = {n: w.to(dtype).clone().requires_grad_() for n, w in weights.items()}
    logits, losses = [], []
    for tokens, targets in zip(x[0], y[0]):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            out = forward(params, item.shape, tokens, Variant())
        row = row_losses(out if dtype == torch.float64 else out.float(), targets)
        (row.mean() / len(x[0])).backward()
        logits.append(out.detach())
        losses.append(row.detach())
    found = {"logits": torch.stack(logits), "losses": torch.stack(losses)}
    found["loss"] = found["losses"].double().mean()
    return found | {f"grad/{name}": grad for name, grad in copy_gradients(params).items()}


def deviations(item: Case) -> dict[str, torch.Tensor]:
    truth = first_step(item, torch.float64, False)
    rounded = [first_step(item, torch.float32, True), first_step(item, torch.bfloat16, False)]
    return {
        f"{item.name}/{key}": torch.stack(
            [(run[key].double() - value).abs().max() for run in rounded]
        ).max().view(1)
        for key, value in truth.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Make sixteen_bits.safetensors.")
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    torch.set_num_threads(1)
    arrays = {}
    for item in CASES:
        if item.name not in NAMES:
            continue
        found = deviations(item)
        arrays |= {key: to_numpy(value) for key, value in found.items()}
        print(f"{item.name:17s} logits {found[item.name + '/logits'].item():.4f}")
    fixture_file.write(out / "sixteen_bits.safetensors", arrays, {"torch": torch.__version__})


if __name__ == "__main__":
    main()
