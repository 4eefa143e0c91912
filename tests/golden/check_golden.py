"""Proves the golden fixtures worth having: rounding passes, faults do not. Defines the tolerances.

    .venv/bin/python tests/golden/check_golden.py [--nanogpt DIR]

Every case is run again in float32 with honest differences (fused attention, sums taken term by
term, nanoGPT's own model if a checkout is given) that must stay within the tolerances, and with
deliberate faults, each of which must break them in some case. Exits 1 if not.

The tolerances, with eps = 2^-24, k = FACTOR, dev = f32dev, max over the named tensor:

    logits, losses        k dev + 4 eps max|ref|
    loss, step_loss,      the same with dev = max(dev, dev of losses): a mean of few numbers can be
      final_loss          right by luck
    grad_norm             the same with dev = max(dev, sqrt(sum over P of elements * dev(P)[0]^2))
    grad/P                k dev(P)[0] + 4 eps max|ref|
    exp_avg/P             k dev(P)[1] + 4 eps max|ref|
    exp_avg_sq/P          the same, of the square roots
    step3/P, element i    min(k dev(P)[1] sens(P)[i], 2.1 sum of learning rates)
                            + eps (8 |ref[i]| + 16 sum of learning rates)

AdamW divides by sqrt(v), so an element whose gradient is about zero moves by up to a learning rate
in a direction that rounding decides: its sens is huge and the first term caps at what two such
updates can differ by. All key biases (c_attn.bias, middle third) are so: softmax does not see them
and their true gradient is zero. Everything else is held to a small part of its update.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import fixture_file
import numpy as np
import reference_gpt
import torch
from make_golden import SCALARS, named_results, sampled, summary
from reference_gpt import Params, Run, Shape, Training, Variant, param_shapes
from torch import Tensor

FACTOR = 8.0
EPS = 2.0**-24
HONEST = {
    "plain": Variant(),
    "fused attention": Variant(fused_attention=True),
    "sequential sums": Variant(sequential_sums=True),
}
MODEL_FAULTS = {
    "tanh GELU": Variant(gelu="tanh"),
    "LayerNorm eps 1e-6": Variant(ln_eps=1e-6),
    "weights rounded to bfloat16": Variant(round_weights_to=torch.bfloat16),
    "decay on vectors too": Variant(decay_min_dim=1),
    "no decay": Variant(decay_min_dim=3),
}
TRAINING_FAULTS = {
    "no clipping": {"grad_clip": 0.0},
    "clip at 1.001": {"grad_clip": 1.001},
    "beta2 0.999": {"beta2": 0.999},
    "Adam eps 1e-6": {"adam_eps": 1e-6},
}


def comparable(key: str, value: Tensor) -> Tensor:
    """Second moments are compared by their square roots, whose error is the gradient's."""
    return value.sqrt() if key.startswith("exp_avg_sq/") else value


class Fixture:
    """One fixture file, unpacked to what reference_gpt.run takes."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        arrays, meta = fixture_file.read(path)
        self.tensors = {key: torch.from_numpy(np.array(value)) for key, value in arrays.items()}
        self.stride = int(meta["sample_stride"])
        sizes = ("n_layer", "n_head", "n_embd", "block_size", "vocab_size")
        self.shape = Shape(*(int(meta[key]) for key in sizes), bias=meta["bias"] == "1")
        rates = tuple(float(rate) for rate in meta["learning_rate"].split(","))
        others = ("grad_clip", "weight_decay", "beta1", "beta2", "adam_eps")
        self.training = Training(rates, *(float(meta[key]) for key in others))
        self.shapes = param_shapes(self.shape)

    def weights(self) -> Params:
        out = {}
        for name, dims in self.shapes.items():
            stored = self.tensors[f"weight/{name}"].flatten()
            out[name] = stored[torch.arange(math.prod(dims)) % len(stored)].view(dims)
        return out

    def reference(self, key: str) -> Tensor:
        return comparable(key, self.tensors[key])

    def run(self, training: Training, variant: Variant) -> Run:
        x, y = self.tensors["x"].long(), self.tensors["y"].long()
        return reference_gpt.run(
            self.weights(), self.shape, training, x, y, torch.float32, variant
        )


def scalar_deviation(fixture: Fixture, key: str) -> float:
    """dev of logits, losses and the scalars, guarded against luck."""
    dev = fixture.tensors[f"f32dev/{key}"].item()
    if key in ("loss", "step_loss", "final_loss"):
        return max(dev, fixture.tensors["f32dev/losses"].item())
    if key == "grad_norm":
        squares = (
            math.prod(dims) * fixture.tensors[f"f32dev/{name}"][0].item() ** 2
            for name, dims in fixture.shapes.items()
        )
        return max(dev, math.sqrt(sum(squares)))
    return dev


def tolerances(fixture: Fixture) -> dict[str, Tensor]:
    """Allowed distance, broadcastable to the stored tensor, for every compared name."""
    out = {}
    rates = sum(fixture.training.learning_rate)
    for key in SCALARS:
        largest = fixture.tensors[key].abs().max()
        out[key] = FACTOR * scalar_deviation(fixture, key) + 4 * EPS * largest
    for name in fixture.shapes:
        grad_dev, clipped_dev = fixture.tensors[f"f32dev/{name}"]
        devs = {"grad": grad_dev, "exp_avg": clipped_dev, "exp_avg_sq": clipped_dev}
        for prefix, dev in devs.items():
            largest = fixture.reference(f"{prefix}/{name}").abs().max()
            out[f"{prefix}/{name}"] = FACTOR * dev + 4 * EPS * largest
        drift = FACTOR * clipped_dev * fixture.tensors[f"sens/{name}"]
        rounding = EPS * (8 * fixture.tensors[f"step3/{name}"].abs() + 16 * rates)
        out[f"step3/{name}"] = drift.clamp(max=2.1 * rates) + rounding
    return out


def compared(fixture: Fixture, result: Run) -> dict[str, Tensor]:
    """A run's results in the shapes in which the fixture stores them."""
    out = summary(result)
    for name in fixture.shapes:
        for prefix, values in named_results(result).items():
            key = f"{prefix}/{name}"
            out[key] = comparable(key, sampled(values[name], fixture.stride))
    return out


def worst_excess(fixture: Fixture, result: Run) -> tuple[float, str]:
    """Largest error as a multiple of its tolerance (above 1 fails), and the tensor it is in."""
    allowed = tolerances(fixture)
    excess = {
        key: ((value - fixture.reference(key)).abs() / allowed[key]).nan_to_num(math.inf).max()
        for key, value in compared(fixture, result).items()
    }
    worst = max(excess, key=excess.__getitem__)
    return excess[worst].item(), worst


def load_nanogpt(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("nanogpt_model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def nanogpt_errors(fixture: Fixture, nanogpt: ModuleType) -> float:
    """worst_excess of nanoGPT's own model, optimizer and step, in float32."""
    config = nanogpt.GPTConfig(**dataclasses.asdict(fixture.shape), dropout=0.0)
    model = nanogpt.GPT(config)
    model.load_state_dict(fixture.weights(), strict=False)
    params = dict(model.named_parameters())
    assert params.keys() == fixture.shapes.keys()
    t = fixture.training
    optimizer = model.configure_optimizers(t.weight_decay, 0.0, (t.beta1, t.beta2), "cpu")
    x, y = fixture.tensors["x"].long(), fixture.tensors["y"].long()
    out = Run(sensitivity={})
    for step in range(len(x)):
        optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = t.learning_rate[step]
        pairs = [model(a, b) for a, b in zip(x[step], y[step])]
        for _, loss in pairs:
            (loss / len(pairs)).backward()
        if step == 0:
            out.grads = reference_gpt.copy_gradients(params)
            out.logits = torch.stack([logits.detach() for logits, _ in pairs])
            out.losses = reference_gpt.row_losses(out.logits, y[0])
        clip = t.grad_clip or math.inf
        out.grad_norm.append(torch.nn.utils.clip_grad_norm_(model.parameters(), clip))
        out.step_loss.append(torch.stack([loss.detach() for _, loss in pairs]))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    out.final_loss = torch.stack([model(a, b)[1].detach() for a, b in zip(x[0], y[0])])
    for name, p in params.items():
        out.params[name] = p.detach()
        out.exp_avg[name] = optimizer.state[p]["exp_avg"]
        out.exp_avg_sq[name] = optimizer.state[p]["exp_avg_sq"]
    return worst_excess(fixture, out)[0]


def report_resolution(fixtures: list[Fixture]) -> None:
    """How sharp the step3 check is: the share of elements held to 1% of the updates or better."""
    for fixture in fixtures:
        allowed = tolerances(fixture)
        total = torch.cat([allowed[f"step3/{name}"].flatten() for name in fixture.shapes])
        share = total / sum(fixture.training.learning_rate)
        print(
            f"  {fixture.name:17s} median tolerance {share.median():.1e} of the summed rates,"
            f" {100 * (share > 0.01).float().mean():.1f}% of elements looser than 1%"
        )


def check_honest(fixtures: list[Fixture], nanogpt: ModuleType | None) -> bool:
    good = True
    for label, variant in HONEST.items():
        worst = [worst_excess(f, f.run(f.training, variant)) for f in fixtures]
        good &= max(worst)[0] <= 1
        print(f"  {label:28s} worst error {max(worst)[0]:.2f} of the tolerance, in {max(worst)[1]}")
    if nanogpt:
        worst_nanogpt = max(nanogpt_errors(f, nanogpt) for f in fixtures)
        good &= worst_nanogpt <= 1
        print(f"  {'nanoGPT itself':28s} worst error {worst_nanogpt:.2f} of the tolerance")
    return good


def check_faults(fixtures: list[Fixture]) -> bool:
    runs = {name: ({}, variant) for name, variant in MODEL_FAULTS.items()}
    runs |= {name: (change, Variant()) for name, change in TRAINING_FAULTS.items()}
    good = True
    for label, (change, variant) in runs.items():
        excess = [
            worst_excess(f, f.run(dataclasses.replace(f.training, **change), variant))[0]
            for f in fixtures
        ]
        caught = sum(e > 1 for e in excess)
        good &= caught > 0
        print(f"  {label:28s} noticed by {caught} of {len(fixtures)}, by up to {max(excess):.1e}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the golden fixtures and their tolerances.")
    parser.add_argument("--fixtures", type=Path, default=Path(__file__).parent)
    parser.add_argument("--nanogpt", type=Path, help="a nanoGPT checkout")
    args = parser.parse_args()
    fixtures = [Fixture(path) for path in sorted(args.fixtures.glob("*.safetensors"))]
    nanogpt = load_nanogpt(args.nanogpt) if args.nanogpt else None
    print("step3 tolerances:")
    report_resolution(fixtures)
    print("must pass:")
    good = check_honest(fixtures, nanogpt)
    print("must be noticed:")
    good &= check_faults(fixtures)
    return 0 if good and fixtures else 1


if __name__ == "__main__":
    sys.exit(main())
