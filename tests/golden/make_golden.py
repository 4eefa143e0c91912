"""Makes the golden fixtures: small GPT-2 training runs whose results PyTorch vouches for.

Run by hand when a case changes; the files are committed and tests need no Python:

    python3 -m venv .venv && .venv/bin/pip install torch numpy
    .venv/bin/python tests/golden/make_golden.py --out tests/golden

Then run check_golden.py beside it. The weights come from a seeded generator. All results are
computed in float64 from weights rounded to float32, and rounded to float32 when stored: they are
the truth. The same run is made twice in float32 (plain and fused attention), and eight times with
random noise of float32's size in the gradients; the largest distance from the truth is stored too,
so that a test can ask for "a few times PyTorch's own error". The noise is needed because AdamW
turns a gradient that rounding decides into a whole step, which moves later gradients: what one
float32 run shows of that is chance.

One file per case, <case>.safetensors. Its metadata (strings) holds the hyperparameters: n_layer,
n_head, n_embd, block_size, vocab_size, bias, batch_size, tokens (T <= block_size), steps (K),
accumulation (A), learning_rate (K values, comma-separated), grad_clip (0 = off), weight_decay,
beta1, beta2, adam_eps, sample_stride. Its tensors, P a parameter's checkpoint name (lm_head is
tied to wte and has no entry; its gradient is part of wte's):

    x, y           (K, A, B, T) int32: tokens and targets of every micro-batch
    weight/P       initial weights: element i of the flat tensor is stored[i % stored.size()]
                   (large matrices are stored as one short period, small ones in full)
    logits         (A, B, T, V) of step 0
    losses         (A, B, T) cross-entropy per row of step 0; loss (1) is their mean
    grad/P         gradient of that mean over all A micro-batches, before clipping
    step_loss      (K, A) mean loss of each micro-batch, before the step's update
    grad_norm      (K) global norm of each step's gradient, before clipping
    step3/P        weights after all K = 3 updates
    exp_avg/P, exp_avg_sq/P   AdamW's moments after them, as PyTorch keeps them (not bias-corrected)
    final_loss     (A) losses of step 0's micro-batches with the weights step3
    sens/P         how far step3 moves per unit of gradient error (reference_gpt.adam_sensitivity)
    f32dev/P       (2) PyTorch float32's largest error in grad/P, and in any step's clipped gradient
    f32dev/N       (1) the same for N = logits, losses, loss, step_loss, grad_norm, final_loss

All results named by P of matrices above 128 elements hold only every sample_stride-th element
of the flat tensor: stored[j] is element j * sample_stride. (Stored in full if sizes are equal.)
The stride is shorter than every row and coprime to its length: every row is visited, and every
column of a matrix tall enough. The tolerances that go with this are in check_golden.py.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import fixture_file
import numpy as np
import torch
from reference_gpt import GradientNoise, Params, Run, Shape, Training, Variant, param_shapes, run
from torch import Tensor

STEPS = 3
FULL_RESULT_LIMIT = 128  # elements; larger matrices have their results sampled
FULL_WEIGHT_LIMIT = 4096  # elements; larger matrices have periodic weights
WEIGHT_PERIOD = 2039  # prime, so that rows of even length start at different phases
NOISE_RUNS = 8
SCALARS = ("logits", "losses", "loss", "step_loss", "grad_norm", "final_loss")


@dataclass(frozen=True)
class Case:
    """One fixture. gain scales all matrices (1: activations of order one), wte_gain the logits."""

    name: str
    shape: Shape
    batch_size: int
    tokens: int
    accumulation: int = 1
    learning_rate: tuple[float, ...] = (1e-2, 1e-2, 1e-2)
    grad_clip: float = 1.0
    gain: float = 1.0
    wte_gain: float = 1.0
    sample_stride: int = 1


def case(name: str, layers: int, heads: int, width: int, vocab: int, bias: bool, **rest) -> Case:
    """A case whose block_size is its token count unless given."""
    block_size = rest.pop("block_size", rest["tokens"])
    shape = Shape(layers, heads, width, block_size, vocab, bias)
    return Case(name=name, shape=shape, **rest)


CASES = (
    # The smallest sequence: attention over one position, a head size of 5.
    case("one_token", 1, 2, 10, 3, True, batch_size=2, tokens=1),
    # One head; everything small enough to be stored in full and debugged by eye.
    case("one_head", 1, 1, 8, 11, True, batch_size=1, tokens=7),
    # Head size 1 and no bias; clipping off.
    case("head1", 2, 8, 8, 11, False, batch_size=3, tokens=7, grad_clip=0.0, sample_stride=3),
    # Two micro-batches, three layers, a warming-up learning rate.
    case(
        "head3_accumulate", 3, 4, 12, 65, True, batch_size=2, tokens=17, accumulation=2,
        learning_rate=(4e-3, 8e-3, 1.2e-2), sample_stride=5,
    ),
    # Fewer tokens than positions: unused wpe rows have no gradient and only decay.
    case(
        "head8_short", 2, 2, 16, 97, False, batch_size=2, tokens=33, block_size=40,
        sample_stride=7,
    ),
    # 65 tokens: one past a tile of 64.
    case("head8_long", 1, 3, 24, 65, True, batch_size=1, tokens=65, sample_stride=11),
    # Gradients so small that a clip at 1 leaves them alone.
    case(
        "unclipped", 1, 2, 16, 97, True, batch_size=3, tokens=17, gain=0.25, sample_stride=7
    ),
    # Saturated softmaxes: logits past exp's float32 range, a clip that bites hard.
    case(
        "sharp", 1, 2, 16, 65, True, batch_size=2, tokens=17, gain=3.0, wte_gain=12.0,
        sample_stride=7,
    ),
    # Wide heads. Of so many weights some have gradients that rounding decides; the smaller steps
    # keep what they do to the others small.
    case(
        "head64", 1, 1, 64, 97, True, batch_size=1, tokens=33, learning_rate=(1e-3,) * STEPS,
        sample_stride=53,
    ),
    case(
        "head64_pair", 1, 2, 128, 11, True, batch_size=1, tokens=65, learning_rate=(1e-3,) * STEPS,
        sample_stride=97,
    ),
    case(
        "head128", 1, 1, 128, 65, False, batch_size=2, tokens=7, accumulation=2,
        learning_rate=(3e-4,) * STEPS, sample_stride=97,
    ),
)


def initial_weight(item: Case, name: str, dims: tuple[int, ...], rng: torch.Generator) -> Tensor:
    """Float32 weights that keep activations of order one, well above nanoGPT's 0.02."""

    def normal(std: float) -> Tensor:
        count = math.prod(dims)
        drawn = WEIGHT_PERIOD if count > FULL_WEIGHT_LIMIT else count
        period = std * torch.randn(drawn, generator=rng)
        return period.repeat(-(-count // drawn))[:count].view(dims)

    if len(dims) == 1:
        centre = 1.0 if ".ln_" in name and name.endswith("weight") else 0.0
        return centre + normal(0.2)
    factor = {"wte": item.wte_gain, "c_attn": 1.5}.get(name.split(".")[-2], 1.0)
    return normal(item.gain * factor / math.sqrt(dims[1]))


def make_inputs(item: Case) -> tuple[Params, Tensor, Tensor]:
    """Weights, and tokens and targets (K, A, B, T), from a seed fixed by the case's name."""
    rng = torch.Generator().manual_seed(int.from_bytes(item.name.encode()[:7], "little"))
    shapes = param_shapes(item.shape)
    weights = {name: initial_weight(item, name, dims, rng) for name, dims in shapes.items()}
    dims = (STEPS, item.accumulation, item.batch_size, item.tokens + 1)
    stream = torch.randint(item.shape.vocab_size, dims, generator=rng)
    return weights, stream[..., :-1].contiguous(), stream[..., 1:].contiguous()


def summary(result: Run) -> dict[str, Tensor]:
    """The tensors of SCALARS, which are compared as wholes."""
    return {
        "logits": result.logits,
        "losses": result.losses,
        "loss": result.losses.mean().view(1),
        "step_loss": torch.stack(result.step_loss),
        "grad_norm": torch.stack(result.grad_norm),
        "final_loss": result.final_loss,
    }


def named_results(result: Run) -> dict[str, Params]:
    """The results that exist once per parameter, by the prefix of their names."""
    return {
        "grad": result.grads,
        "step3": result.params,
        "exp_avg": result.exp_avg,
        "exp_avg_sq": result.exp_avg_sq,
    }


def largest_error(truth: Tensor, others: list[Tensor]) -> float:
    return max((other.double() - truth).abs().max().item() for other in others)


def gradient_noise(truth: Run, rounded: list[Run]) -> Params:
    """Twice float32's error in step 0's clipped gradient, per element: zeros stay zeros."""
    return {
        name: 2 * torch.stack([r.step_grads[0][name] - grad for r in rounded]).abs().amax(0)
        for name, grad in truth.step_grads[0].items()
    }


def f32_deviations(truth: Run, noisy: list[Run]) -> dict[str, Tensor]:
    """The f32dev tensors: see the top of the file."""
    out = {}
    for key in SCALARS:
        dev = largest_error(summary(truth)[key], [summary(r)[key] for r in noisy])
        out[f"f32dev/{key}"] = torch.tensor([dev])
    for name in truth.params:
        grad = largest_error(truth.grads[name], [r.grads[name] for r in noisy])
        clipped = max(
            largest_error(truth.step_grads[k][name], [r.step_grads[k][name] for r in noisy])
            for k in range(STEPS)
        )
        out[f"f32dev/{name}"] = torch.tensor([grad, clipped])
    return out


def sampled(tensor: Tensor, stride: int) -> Tensor:
    if tensor.dim() < 2 or tensor.numel() <= FULL_RESULT_LIMIT or stride == 1:
        return tensor
    assert stride < tensor.shape[1] and math.gcd(stride, tensor.shape[1]) == 1
    return tensor.flatten()[::stride]


def stored_weight(tensor: Tensor) -> Tensor:
    return tensor.flatten()[:WEIGHT_PERIOD] if tensor.numel() > FULL_WEIGHT_LIMIT else tensor


def metadata(item: Case, training: Training) -> dict[str, str]:
    values = dataclasses.asdict(item.shape) | dataclasses.asdict(training)
    values |= {
        "batch_size": item.batch_size,
        "tokens": item.tokens,
        "steps": STEPS,
        "accumulation": item.accumulation,
        "sample_stride": item.sample_stride,
        "learning_rate": ",".join(str(rate) for rate in item.learning_rate),
    }
    return {key: str(int(v) if isinstance(v, bool) else v) for key, v in values.items()}


def noisy_runs(item: Case, training: Training, truth: Run) -> list[Run]:
    """The runs whose distance from the truth counts as honest rounding."""
    inputs = make_inputs(item)

    def repeat(dtype: torch.dtype, variant: Variant) -> Run:
        weights, x, y = inputs
        return run(weights, item.shape, training, x, y, dtype, variant)

    rounded = [repeat(torch.float32, Variant(fused_attention=fused)) for fused in (False, True)]
    amplitude = gradient_noise(truth, rounded)
    noises = [GradientNoise(amplitude, seed) for seed in range(NOISE_RUNS)]
    return rounded + [repeat(torch.float64, Variant(noise=noise)) for noise in noises]


def make_tensors(item: Case, training: Training) -> tuple[dict[str, Tensor], Run]:
    """All tensors of one fixture by name, and the true run for the report."""
    weights, x, y = make_inputs(item)
    truth = run(weights, item.shape, training, x, y, torch.float64)
    tensors = {"x": x.int(), "y": y.int()} | summary(truth)
    for name, weight in weights.items():
        tensors[f"weight/{name}"] = stored_weight(weight)
        for prefix, values in named_results(truth).items():
            tensors[f"{prefix}/{name}"] = sampled(values[name], item.sample_stride)
        tensors[f"sens/{name}"] = sampled(truth.sensitivity[name], item.sample_stride)
    return tensors | f32_deviations(truth, noisy_runs(item, training, truth)), truth


def to_numpy(tensor: Tensor) -> np.ndarray:
    return (tensor if tensor.dtype == torch.int32 else tensor.float()).contiguous().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the golden fixtures.")
    parser.add_argument("--out", type=Path, required=True, help="folder for <case>.safetensors")
    out: Path = parser.parse_args().out
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    out.mkdir(parents=True, exist_ok=True)
    for item in CASES:
        training = Training(item.learning_rate, item.grad_clip)
        tensors, truth = make_tensors(item, training)
        path = out / f"{item.name}.safetensors"
        arrays = {name: to_numpy(tensor) for name, tensor in tensors.items()}
        fixture_file.write(path, arrays, metadata(item, training))
        norms = " ".join(f"{norm:.3g}" for norm in truth.grad_norm)
        print(
            f"{item.name:17s} {path.stat().st_size / 1024:6.1f} KiB  loss {truth.losses.mean():.4f}"
            f"  |logit| <= {truth.logits.abs().max():.3g}  norms {norms}  clip {item.grad_clip}"
        )


if __name__ == "__main__":
    main()
