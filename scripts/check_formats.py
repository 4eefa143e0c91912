#!/usr/bin/env python3
"""Checks Snug's checkpoint formats against the programs they belong to, on the CPU.

    python3 -m venv VENV && VENV/bin/pip install torch numpy transformers safetensors gguf xllamacpp
    VENV/bin/python scripts/check_formats.py --snug=build/release/snug --nanogpt=PATH --llmc=PATH

The two are checkouts of nanoGPT and llm.c, whose C program is compiled with cc; xllamacpp is llama.cpp
as a wheel. What is not there is left out, and said so. Nothing is downloaded. Needs two minutes; not part
of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

DONE: list[str] = []

# llm.c's own reader and forward pass: the loss and the last row of logits.
LLMC_PROGRAM = """
#define TESTING
#include "train_gpt2.c"
int main(int argc, char** argv) {
  GPT2 model;
  gpt2_build_from_checkpoint(&model, argv[1]);
  const int T = atoi(argv[2]), V = model.config.vocab_size, Vp = model.config.padded_vocab_size;
  int* ids = malloc(2 * T * sizeof(int));
  for (int i = 0; i < 2 * T; i++) ids[i] = atoi(argv[3 + i]);
  gpt2_forward(&model, ids, ids + T, 1, T);
  printf("result %.7f", model.mean_loss);
  for (int i = 0; i < V; i++) printf(" %.7f", model.acts.logits[(T - 1) * Vp + i]);
  return 0;
}
"""


def check(what: str, holds: bool, detail: str = "") -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'  ' + detail if detail else ''}", flush=True)
    if not holds:
        sys.exit(1)
    DONE.append(what)


class Checker:
    def __init__(self, snug: str, nanogpt: str | None, llmc: str | None, folder: Path):
        self.snug_path = str(Path(snug).resolve())
        self.nanogpt = Path(nanogpt).resolve() if nanogpt else None
        self.llmc_path = Path(llmc).resolve() if llmc else None
        self.folder = folder

    def run(self, *words: str, where: Path | None = None) -> str:
        done = subprocess.run(words, cwd=where or self.folder, capture_output=True, text=True,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        if done.returncode != 0:
            print(done.stdout, done.stderr)
            check(" ".join(words), False, f"exit code {done.returncode}")
        return done.stdout

    def snug(self, *words: str) -> str:
        return self.run(self.snug_path, *words)

    def snug_eval(self, checkpoint: str, tokens: list, targets: list | None = None) -> dict:
        batch = {"tokens": tokens} | ({"targets": targets} if targets else {})
        (self.folder / "batch.json").write_text(json.dumps(batch))
        return json.loads(self.snug("eval", checkpoint, "--tokens=batch.json", "--json"))

    # --- Hugging Face ---

    def hugging_face_model(self, **changes):
        from transformers import GPT2Config, GPT2LMHeadModel

        torch.manual_seed(3)
        config = GPT2Config(**({"n_layer": 3, "n_head": 4, "n_embd": 64, "n_positions": 32,
                                "vocab_size": 199, "bos_token_id": 0, "eos_token_id": 0} | changes))
        model = GPT2LMHeadModel(config).eval()
        with torch.no_grad():
            for p in model.parameters():
                p.add_(0.1 * torch.randn_like(p))
        return model

    def compare(self, what: str, model, checkpoint: str) -> None:
        tokens = torch.randint(0, model.config.vocab_size, (3, 20))
        with torch.no_grad():
            out = model(tokens, labels=tokens)
        found = self.snug_eval(checkpoint, tokens.tolist())
        check(f"{what}: loss", abs(found["loss"] - out.loss.item()) < 1e-4,
              f"{found['loss']:.6f} against {out.loss.item():.6f}")
        worst = (torch.tensor(found["logits_last"]) - out.logits[:, -1]).abs().max().item()
        check(f"{what}: logits within 1e-4", worst < 1e-4, f"{worst:.1e}")

    def hugging_face(self) -> None:
        from safetensors.torch import save_file
        from transformers import AutoModelForCausalLM

        for gelu in ("gelu_new", "gelu"):
            model = self.hugging_face_model(activation_function=gelu)
            name = f"hf-{gelu}"
            model.save_pretrained(self.folder / name)
            self.compare(f"Hugging Face in, {gelu}", model, name)
        model.save_pretrained(self.folder / "hf-shards", max_shard_size="100KB")
        check("there are shards", (self.folder / "hf-shards/model.safetensors.index.json").exists())
        self.compare("Hugging Face in, shards", model, "hf-shards")
        self.old_names(model)
        for bias_free in ("hf-gelu",):
            self.snug("convert", bias_free, "own")
            self.snug("convert", "own", "hf-out")
            loaded = AutoModelForCausalLM.from_pretrained(self.folder / "hf-out").eval()
            self.compare("Hugging Face out", loaded, "own")
            same = all(torch.equal(p, dict(loaded.named_parameters())[n])
                       for n, p in model.named_parameters())
            check("Hugging Face out: weights bit-equal", same)
        half = {n: p.detach().to(torch.bfloat16) for n, p in model.named_parameters()}
        (self.folder / "hf-bf16").mkdir()
        model.config.save_pretrained(self.folder / "hf-bf16")
        save_file(half, self.folder / "hf-bf16/model.safetensors", {"format": "pt"})
        rounded = AutoModelForCausalLM.from_pretrained(self.folder / "hf-bf16",
                                                       dtype=torch.float32).eval()
        self.compare("Hugging Face in, bfloat16", rounded, "hf-bf16")

    def old_names(self, model) -> None:
        """As the first GPT-2 files were: no prefix, masks among the tensors, torch.save."""
        folder = self.folder / "hf-old"
        folder.mkdir()
        model.config.save_pretrained(folder)
        tensors = {n.removeprefix("transformer."): p.detach() for n, p in model.named_parameters()}
        size = model.config.n_positions
        mask = torch.tril(torch.ones(size, size, dtype=torch.uint8)).view(1, 1, size, size)
        for i in range(model.config.n_layer):
            tensors[f"h.{i}.attn.bias"] = mask
            tensors[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
        torch.save(tensors, folder / "pytorch_model.bin")
        self.compare("Hugging Face in, pytorch_model.bin with old names", model, "hf-old")
        for protocol in (2, 3, 4, 5):
            torch.save(tensors, folder / "pytorch_model.bin", pickle_protocol=protocol,
                       _use_new_zipfile_serialization=False)
            self.compare(f"Hugging Face in, torch.save without a zip, protocol {protocol}", model,
                         "hf-old")

    # --- nanoGPT ---

    def nanogpt_model(self, file: Path):
        sys.path.insert(0, str(self.nanogpt))
        from model import GPT, GPTConfig

        saved = torch.load(file, map_location="cpu")
        model = GPT(GPTConfig(**saved["model_args"])).eval()
        model.load_state_dict({k.removeprefix("_orig_mod."): v for k, v in saved["model"].items()})
        return model, saved

    def nanogpt_train(self, out: str, *words: str) -> str:
        keys = ["--dataset=tales", "--device=cpu", "--compile=False", "--dtype=float32",
                "--n_layer=2", "--n_head=2", "--n_embd=32", "--block_size=24", "--batch_size=4",
                "--gradient_accumulation_steps=1", "--eval_iters=2", "--eval_interval=10",
                "--warmup_iters=2", "--lr_decay_iters=40", f"--out_dir={out}", *words]
        return self.run(sys.executable, "train.py", *keys, where=self.folder / "nanogpt")

    def nano_round(self, name: str, *more: str) -> None:
        work = self.folder / "nanogpt"
        self.nanogpt_train(name, "--max_iters=20", *more)
        file = work / name / "ckpt.pt"
        model, saved = self.nanogpt_model(file)
        x = torch.randint(0, model.config.vocab_size, (2, 24))
        y = torch.randint(0, model.config.vocab_size, (2, 24))
        with torch.no_grad():
            logits, loss = model(x, y)
        found = self.snug_eval(str(file), x.tolist(), y.tolist())
        check(f"{name} in: loss", abs(found["loss"] - loss.item()) < 1e-5,
              f"{found['loss']:.7f} against {loss.item():.7f}")
        worst = (torch.tensor(found["logits_last"]) - logits[:, -1]).abs().max().item()
        check(f"{name} in: logits", worst < 1e-5, f"{worst:.1e}")

        for step, (source, to) in enumerate([(str(file), "own"), ("own", "hf"), ("hf", "own2"),
                                             ("own2", "back.pt")]):
            self.snug("convert", source if step == 0 else f"{name}-{source}", f"{name}-{to}")
        back = torch.load(self.folder / f"{name}-back.pt", map_location="cpu")["model"]
        same = set(back) == set(saved["model"]) and all(
            torch.equal(back[k], v) for k, v in saved["model"].items())
        check(f"{name}: ckpt.pt, Snug, Hugging Face, Snug, ckpt.pt is bit-equal", same)

        # Two updates of nanoGPT from its own file, and from the one that went through Snug.
        logs = []
        for variant in ("theirs", "ours"):
            folder = work / f"{name}-{variant}"
            folder.mkdir()
            if variant == "theirs":
                (folder / "ckpt.pt").write_bytes(file.read_bytes())
            else:
                self.snug("convert", f"{name}-own", str(folder / "ckpt.pt"))
            log = self.nanogpt_train(f"{name}-{variant}", "--max_iters=24",
                                     "--init_from=resume", *more)
            logs.append([line.split(", time")[0] for line in log.splitlines()
                         if line.startswith(("iter", "step"))])
        check(f"{name} out: nanoGPT resumes, same losses", logs[0] == logs[1] and len(logs[0]) > 3,
              logs[1][-1])
        text = self.run(sys.executable, "sample.py", f"--out_dir={name}-ours", "--device=cpu",
                        "--num_samples=1", "--max_new_tokens=20", where=work)
        check(f"{name} out: nanoGPT samples", "---------------" in text)

        resumed = self.folder / f"{name}-resumed"
        resumed.mkdir()
        (resumed / "ckpt.pt").write_bytes(file.read_bytes())
        log = self.snug("train", "--dataset=tales", "--device=cpu", "--batch_size=4",
                        "--gradient_accumulation_steps=1", "--eval_iters=2", "--eval_interval=10",
                        "--max_iters=24", "--warmup_iters=2", "--lr_decay_iters=40",
                        "--init_from=resume", f"--out_dir={resumed}", *more)
        check(f"{name}: Snug resumes from ckpt.pt", "continuing at iteration 20" in log)

    def nano(self) -> None:
        self.snug("prepare", "tales", "data/tales", "--bytes=60000")
        work = self.folder / "nanogpt"
        work.mkdir()
        for part in ("train.py", "model.py", "sample.py", "configurator.py"):
            (work / part).write_text((self.nanogpt / part).read_text())
        (work / "data").symlink_to(self.folder / "data")
        self.nano_round("nano")
        self.nano_round("nano-bias", "--bias=True", "--dropout=0.1")
        self.same_batches()
        self.compiled_names()

    def same_batches(self) -> None:
        """A file of block_size + 1 tokens has one batch only: both programs go on from the same
        ckpt.pt, with its optimizer and its place in the schedule, over the same tokens."""
        folder = self.folder / "data/one"
        folder.mkdir()
        ids = np.random.default_rng(5).integers(0, 20, 25, dtype=np.uint16)
        for side in ("train", "val"):
            ids.tofile(folder / f"{side}.bin")
        (folder / "meta.pkl").write_bytes((self.folder / "data/tales/meta.pkl").read_bytes())
        words = ["--dataset=one", "--init_from=resume", "--max_iters=40", "--learning_rate=3e-3",
                 "--eval_interval=100"]
        (self.folder / "nanogpt/one").mkdir()
        (self.folder / "one").mkdir()
        for target in (self.folder / "nanogpt/one", self.folder / "one"):
            (target / "ckpt.pt").write_bytes((self.folder / "nanogpt/nano-bias/ckpt.pt").read_bytes())
        theirs = self.nanogpt_train("one", "--bias=True", "--dropout=0.0", *words)
        ours = self.snug("train", "--device=cpu", "--batch_size=4", "--gradient_accumulation_steps=1",
                         "--eval_iters=2", "--warmup_iters=2", "--lr_decay_iters=40", "--log_interval=1",
                         "--dropout=0.0", "--out_dir=one", *words)
        losses = [[float(line.split("loss ")[1].split(",")[0]) for line in log.splitlines()
                   if line.startswith("iter")] for log in (theirs, ours)]
        worst = max(abs(a - b) for a, b in zip(*losses))
        check("20 updates from a ckpt.pt, same losses as nanoGPT's",
              len(losses[0]) == len(losses[1]) == 21 and worst < 2e-4,
              f"{losses[0][0]} to {losses[0][-1]}, within {worst:.1e}")

    def compiled_names(self) -> None:
        """torch.compile puts _orig_mod. before every name."""
        file = self.folder / "nanogpt/nano/ckpt.pt"
        saved = torch.load(file, map_location="cpu")
        saved["model"] = {"_orig_mod." + k: v for k, v in saved["model"].items()}
        torch.save(saved, self.folder / "compiled.pt")
        x = torch.randint(0, saved["model_args"]["vocab_size"], (1, 24)).tolist()
        check("ckpt.pt of a compiled model", self.snug_eval("compiled.pt", x, x)["loss"] ==
              self.snug_eval(str(file), x, x)["loss"])

    # --- llm.c, GGUF ---

    def llmc(self) -> None:
        model = self.hugging_face_model()
        model.save_pretrained(self.folder / "for-llmc")
        self.snug("convert", "for-llmc", "model.bin")
        header = np.fromfile(self.folder / "model.bin", dtype=np.int32, count=256)
        wanted = [20240326, 3, 32, 199, 3, 4, 64, 256]
        check("llm.c out: header", header[:8].tolist() == wanted)
        weights = np.fromfile(self.folder / "model.bin", dtype=np.float32, offset=1024)
        wte = model.transformer.wte.weight.detach().numpy()
        check("llm.c out: wte, padded with zeros",
              np.array_equal(weights[:199 * 64], wte.ravel()) and
              not weights[199 * 64:256 * 64].any())
        self.compare("llm.c in, version 3", model, "model.bin")
        self.snug("convert", "model.bin", "bf16.bin", "--dtype=bfloat16")
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p.to(torch.bfloat16).float())
        self.compare("llm.c in, version 5", model, "bf16.bin")
        if self.llmc_path:
            self.llmc_program()
            self.llmc_writer()
        else:
            print("left out: llm.c's own programs, as --llmc= is not given")

    def llmc_program(self) -> None:
        """What Snug writes, in llm.c's train_gpt2.c."""
        (self.folder / "probe.c").write_text(LLMC_PROGRAM)
        self.run("cc", "-O2", "-w", f"-I{self.llmc_path}", "probe.c", "-o", "probe", "-lm")
        ids = torch.randint(0, 199, (2, 20)).tolist()
        out = self.run("./probe", "model.bin", "20", *(str(i) for row in ids for i in row))
        theirs = [float(word) for word in out.split("result ")[1].split()]
        ours = self.snug_eval("model.bin", ids[:1], ids[1:])
        check("llm.c's train_gpt2.c: loss", abs(theirs[0] - ours["loss"]) < 1e-4,
              f"{ours['loss']:.6f} against {theirs[0]:.6f}")
        worst = np.abs(np.array(theirs[1:]) - np.array(ours["logits_last"][0])).max()
        check("llm.c's train_gpt2.c: logits within 1e-4", worst < 1e-4, f"{worst:.1e}")

    def llmc_writer(self) -> None:
        """What llm.c's train_gpt2.py writes, in Snug."""
        sys.path.insert(0, str(self.llmc_path))
        import train_gpt2

        torch.manual_seed(8)
        model = train_gpt2.GPT(train_gpt2.GPTConfig(block_size=32, vocab_size=50257, n_layer=2, n_head=4,
                                                    n_embd=64)).eval()
        for dtype in ("float32", "bfloat16"):
            name = f"theirs-{dtype}.bin"
            train_gpt2.write_model(model, self.folder / name, dtype)
            with torch.no_grad():
                for p in model.parameters():
                    p.copy_(p.to(getattr(torch, dtype)).float())
                x, y = torch.randint(0, 50257, (2, 3, 20))
                logits, loss = model(x, y)
            found = self.snug_eval(name, x.tolist(), y.tolist())
            worst = (torch.tensor(found["logits_last"]) - logits[:, -1]).abs().max().item()
            check(f"llm.c's train_gpt2.py, {dtype}, in",
                  abs(found["loss"] - loss.item()) < 1e-4 and worst < 1e-4,
                  f"{found['loss']:.6f} against {loss.item():.6f}, logits {worst:.1e}")

    def gguf(self) -> None:
        from gguf import GGUFReader

        model = self.hugging_face_model()
        model.save_pretrained(self.folder / "for-gguf")
        qkv = model.transformer.h[1].attn.c_attn.weight.detach().T.contiguous()
        for dtype, kind in (("float32", "F32"), ("bfloat16", "BF16"), ("float16", "F16")):
            name = f"{dtype}.gguf"
            self.snug("convert", "for-gguf", name, f"--dtype={dtype}")
            reader = GGUFReader(self.folder / name)
            tensors = {t.name: t for t in reader.tensors}
            found = tensors["blk.1.attn_qkv.weight"]
            raw = torch.from_numpy(np.array(found.data))
            if dtype == "bfloat16":
                raw = raw.view(torch.bfloat16)
            rounded = qkv.to(getattr(torch, dtype))
            check(f"GGUF {dtype}: read by gguf",
                  found.tensor_type.name == kind and len(tensors) == 3 * 12 + 4 and
                  torch.equal(raw.reshape(rounded.shape), rounded))
        try:
            import xllamacpp
        except ImportError:
            print("left out: llama.cpp, as xllamacpp is not installed")
            return
        self.llama(xllamacpp)

    def llama(self, xllamacpp) -> None:
        """GPT-2's vocabulary, so that text goes in, too: llama.cpp must tokenize it as Snug does."""
        model = self.hugging_face_model(n_layer=2, vocab_size=50257)
        model.save_pretrained(self.folder / "for-llama")
        self.snug("convert", "for-llama", "llama.gguf")
        settings = xllamacpp.CommonParams()
        settings.model.path = str(self.folder / "llama.gguf")
        settings.n_ctx, settings.n_parallel, settings.warmup, settings.verbosity = 32, 1, False, 0
        server = xllamacpp.Server(settings)
        (self.folder / "text").write_text("I'll  take 3\ncaf\u00e9s \u4f60\u597d, won't I?")
        text = json.loads(self.snug("tokenize", "--json", "text"))
        prompts = [np.random.default_rng(i).integers(0, 50256, 12).tolist() for i in range(5)]
        for prompt, ids in [(p, p) for p in prompts] + [((self.folder / "text").read_text(), text)]:
            answer = server.handle_completions({"prompt": prompt, "max_tokens": 1, "temperature": 0,
                                                "logprobs": 1})
            found = answer["choices"][0]["logprobs"]["content"][0]
            with torch.no_grad():
                wanted = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], -1)
            check(f"llama.cpp: same next token after {'text' if prompt is not ids else 'ids'}",
                  answer["usage"]["prompt_tokens"] == len(ids) and
                  found["id"] == wanted.argmax().item(),
                  f"{found['logprob']:.4f} against {wanted.max().item():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--snug", required=True)
    parser.add_argument("--nanogpt")
    parser.add_argument("--llmc")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(options.snug, options.nanogpt, options.llmc, Path(folder))
        checker.hugging_face()
        checker.llmc()
        checker.gguf()
        if options.nanogpt:
            checker.nano()
        else:
            print("left out: nanoGPT, as --nanogpt= is not given")
    print(f"{len(DONE)} checks passed")


if __name__ == "__main__":
    main()
