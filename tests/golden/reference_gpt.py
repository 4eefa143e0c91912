"""GPT-2 as nanoGPT defines it, and its training step, in plain PyTorch: the oracle of the fixtures.

Written for reading, not for speed: one function per formula, parameters in a dict by their names.
The dtype of the parameters decides the arithmetic (float64 for the truth, float32 for its noise).
Variant names what check_golden.py changes to see whether the fixtures would notice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

Params = dict[str, Tensor]


@dataclass(frozen=True)
class Shape:
    """Sizes of one model; block_size may exceed the tokens actually given."""

    n_layer: int
    n_head: int
    n_embd: int
    block_size: int
    vocab_size: int
    bias: bool


@dataclass(frozen=True)
class Training:
    """One training run: learning_rate holds one value per step; grad_clip 0 is off."""

    learning_rate: tuple[float, ...]
    grad_clip: float
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    adam_eps: float = 1e-8


@dataclass(frozen=True)
class GradientNoise:
    """Uniform noise of the given amplitude per element, added to every clipped gradient."""

    amplitude: Params
    seed: int

    def add_to(self, params: Params, step: int) -> None:
        rng = torch.Generator().manual_seed(1000 * self.seed + step)
        for name, p in params.items():
            uniform = 2 * torch.rand(p.shape, generator=rng, dtype=p.dtype) - 1
            p.grad += self.amplitude[name] * uniform


@dataclass(frozen=True)
class Variant:
    """What may differ from the truth: rounding alone (the first three) or a fault to be noticed."""

    fused_attention: bool = False
    sequential_sums: bool = False  # dot products added up term by term: the worst honest order
    noise: GradientNoise | None = None
    gelu: str = "none"  # F.gelu's approximate: "none" is the erf form
    ln_eps: float = 1e-5
    decay_min_dim: int = 2  # tensors of at least this many dimensions decay
    round_weights_to: torch.dtype | None = None


@dataclass
class Run:
    """Everything a run of K steps leaves behind; filled by run()."""

    sensitivity: Params  # see adam_sensitivity, summed over the steps
    logits: Tensor | None = None  # (A, B, T, V) of step 0
    losses: Tensor | None = None  # (A, B, T) of step 0
    grads: Params = field(default_factory=dict)  # of step 0, before clipping
    step_grads: list[Params] = field(default_factory=list)  # of every step, after clipping
    step_loss: list[Tensor] = field(default_factory=list)  # K of (A), before each update
    grad_norm: list[Tensor] = field(default_factory=list)  # K, before clipping
    final_loss: Tensor | None = None  # (A), step 0's data after the last update
    params: Params = field(default_factory=dict)  # after the last update, as are these two:
    exp_avg: Params = field(default_factory=dict)
    exp_avg_sq: Params = field(default_factory=dict)


def param_shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Names and shapes in checkpoint order; lm_head is tied to wte and not listed."""
    c = shape.n_embd
    shapes: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (shape.vocab_size, c),
        "transformer.wpe.weight": (shape.block_size, c),
    }

    def add(name: str, weight: tuple[int, ...]) -> None:
        shapes[f"{name}.weight"] = weight
        if shape.bias:
            shapes[f"{name}.bias"] = weight[:1]

    for layer in range(shape.n_layer):
        block = f"transformer.h.{layer}"
        add(f"{block}.ln_1", (c,))
        add(f"{block}.attn.c_attn", (3 * c, c))
        add(f"{block}.attn.c_proj", (c, c))
        add(f"{block}.ln_2", (c,))
        add(f"{block}.mlp.c_fc", (4 * c, c))
        add(f"{block}.mlp.c_proj", (c, 4 * c))
    add("transformer.ln_f", (c,))
    return shapes


def layer_norm(params: Params, name: str, x: Tensor, variant: Variant) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    y = centred * torch.rsqrt(variance + variant.ln_eps) * params[f"{name}.weight"]
    bias = params.get(f"{name}.bias")
    return y if bias is None else y + bias


def sequential_product(a: Tensor, b: Tensor) -> Tensor:
    """a b^T over the last axis of both, one term after the other."""
    out = torch.zeros(a.shape[0], b.shape[0], dtype=a.dtype)
    for k in range(a.shape[1]):
        out += torch.outer(a[:, k], b[:, k])
    return out


class SequentialMatmul(torch.autograd.Function):
    """x w^T of x (N, I) and w (O, I) with sequential sums in both directions."""

    @staticmethod
    def forward(ctx, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return sequential_product(x, w)

    @staticmethod
    def backward(ctx, dy: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        return sequential_product(dy, w.T), sequential_product(dy.T, x.T)


def project(x: Tensor, w: Tensor, variant: Variant) -> Tensor:
    """x w^T of x (B, T, I) and w (O, I)."""
    if not variant.sequential_sums:
        return F.linear(x, w)
    return SequentialMatmul.apply(x.flatten(0, 1), w).unflatten(0, x.shape[:2])


def linear(params: Params, name: str, x: Tensor, variant: Variant) -> Tensor:
    y = project(x, params[f"{name}.weight"], variant)
    bias = params.get(f"{name}.bias")
    return y if bias is None else y + bias


def causal_attention(q: Tensor, k: Tensor, v: Tensor, fused: bool) -> Tensor:
    """softmax(q k^T / sqrt(head size)) v over the past; all of shape (B, H, T, head size)."""
    if fused:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    length, head_size = q.shape[-2:]
    scores = q @ k.transpose(-1, -2) / math.sqrt(head_size)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -math.inf), -1) @ v


def attention_block(params: Params, name: str, x: Tensor, n_head: int, variant: Variant) -> Tensor:
    qkv = linear(params, f"{name}.c_attn", x, variant).unflatten(-1, (3, n_head, -1))
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, H, T, head size)
    y = causal_attention(q, k, v, variant.fused_attention).transpose(1, 2).flatten(2)
    return linear(params, f"{name}.c_proj", y, variant)


def mlp_block(params: Params, name: str, x: Tensor, variant: Variant) -> Tensor:
    wide = F.gelu(linear(params, f"{name}.c_fc", x, variant), approximate=variant.gelu)
    return linear(params, f"{name}.c_proj", wide, variant)


def forward(params: Params, shape: Shape, x: Tensor, variant: Variant) -> Tensor:
    """Logits (B, T, V) of tokens x (B, T)."""
    wte = params["transformer.wte.weight"]
    h = wte[x] + params["transformer.wpe.weight"][: x.shape[1]]
    for layer in range(shape.n_layer):
        block = f"transformer.h.{layer}"
        normed = layer_norm(params, f"{block}.ln_1", h, variant)
        h = h + attention_block(params, f"{block}.attn", normed, shape.n_head, variant)
        normed = layer_norm(params, f"{block}.ln_2", h, variant)
        h = h + mlp_block(params, f"{block}.mlp", normed, variant)
    return project(layer_norm(params, "transformer.ln_f", h, variant), wte, variant)


def row_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy (B, T) of targets y (B, T)."""
    picked = logits.gather(-1, y[..., None])[..., 0]
    return torch.logsumexp(logits, -1) - picked


def make_optimizer(
    params: Params, training: Training, decay_min_dim: int
) -> torch.optim.Optimizer:
    """AdamW with nanoGPT's groups: matrices and embeddings decay, vectors do not."""
    decayed = [p for p in params.values() if p.dim() >= decay_min_dim]
    others = [p for p in params.values() if p.dim() < decay_min_dim]
    groups = [
        {"params": decayed, "weight_decay": training.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    betas = (training.beta1, training.beta2)
    return torch.optim.AdamW(
        [g for g in groups if g["params"]], lr=0.0, betas=betas, eps=training.adam_eps
    )


def adam_sensitivity(
    optimizer: torch.optim.Optimizer, p: Tensor, training: Training, step: int
) -> Tensor:
    """How far one AdamW step moves each element per unit of gradient error, to first order.

    The update is lr*u, u = m/(sqrt(v) + eps), m and v bias-corrected. If no gradient so far is off
    by more than d, m is off by at most d (weights sum to one), and so is sqrt(v) (a weighted
    2-norm), hence |lr du| <= lr (1 + |u|) d / (sqrt(v) + eps).
    """
    state = optimizer.state[p]
    m = state["exp_avg"] / (1 - training.beta1 ** (step + 1))
    v = state["exp_avg_sq"] / (1 - training.beta2 ** (step + 1))
    divisor = v.sqrt() + training.adam_eps
    return training.learning_rate[step] * (1 + (m / divisor).abs()) / divisor


def accumulate_gradients(
    params: Params, shape: Shape, x: Tensor, y: Tensor, variant: Variant
) -> tuple[Tensor, Tensor]:
    """Leaves the gradient of the mean loss of A micro-batches in p.grad; (logits, row losses)."""
    all_logits, all_losses = [], []
    for tokens, targets in zip(x, y):
        logits = forward(params, shape, tokens, variant)
        losses = row_losses(logits, targets)
        (losses.mean() / len(x)).backward()
        all_logits.append(logits.detach())
        all_losses.append(losses.detach())
    return torch.stack(all_logits), torch.stack(all_losses)


def copy_gradients(params: Params) -> Params:
    return {name: p.grad.clone() for name, p in params.items()}


def run(
    weights: Params,
    shape: Shape,
    training: Training,
    x: Tensor,
    y: Tensor,
    dtype: torch.dtype,
    variant: Variant = Variant(),
) -> Run:
    """Trains K steps of A micro-batches on tokens x and targets y, both (K, A, B, T)."""
    rounding = variant.round_weights_to or dtype
    params = {n: w.to(rounding).to(dtype).clone().requires_grad_() for n, w in weights.items()}
    optimizer = make_optimizer(params, training, variant.decay_min_dim)
    out = Run(sensitivity={name: torch.zeros_like(p) for name, p in params.items()})
    for step in range(x.shape[0]):
        optimizer.zero_grad(set_to_none=True)
        logits, losses = accumulate_gradients(params, shape, x[step], y[step], variant)
        if step == 0:
            out.logits, out.losses, out.grads = logits, losses, copy_gradients(params)
        out.step_loss.append(losses.mean((1, 2)))
        clip = training.grad_clip or math.inf
        out.grad_norm.append(torch.nn.utils.clip_grad_norm_(params.values(), clip))
        if variant.noise:
            variant.noise.add_to(params, step)
        out.step_grads.append(copy_gradients(params))
        for group in optimizer.param_groups:
            group["lr"] = training.learning_rate[step]
        optimizer.step()
        for name, p in params.items():
            out.sensitivity[name] += adam_sensitivity(optimizer, p, training, step)
    with torch.no_grad():
        out.final_loss = torch.stack(
            [row_losses(forward(params, shape, a, variant), b).mean() for a, b in zip(x[0], y[0])]
        )
    for name, p in params.items():
        out.params[name] = p.detach()
        out.exp_avg[name] = optimizer.state[p]["exp_avg"]
        out.exp_avg_sq[name] = optimizer.state[p]["exp_avg_sq"]
    return out
