"""Compares Snug's GPT-2 tokenizer with tiktoken and Hugging Face's tokenizers: same ids, and speed.

    python3 -m venv VENV && VENV/bin/pip install tiktoken tokenizers
    cmake --build build/release --target tokenizer_bench
    VENV/bin/python bench/tokenizer_compare.py build/release/tokenizer_bench TEXT.txt [--rounds 5]

No network: both are made from the repository's merges.txt. Ids are compared for every code point alone
and in several surroundings, for random texts and for TEXT. Speed is of one thread on TEXT, in CPU time and
in turns, so that a noisy neighbour hits all three; a round's ratio is taken within the round.
"""

from __future__ import annotations

import argparse
import random
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import tiktoken
import tokenizers

MERGES = Path(__file__).parent.parent / "src" / "tokenizer" / "gpt2" / "merges.txt"
# tiktoken's own pattern for gpt2.
PATTERN = (
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
)


def byte_alphabet() -> dict[str, int]:
    prints = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in prints]
    return {chr(b): b for b in prints} | {chr(256 + i): b for i, b in enumerate(others)}


def load_tiktoken() -> tiktoken.Encoding:
    alphabet = byte_alphabet()
    ranks = {bytes([b]): i for i, b in enumerate(alphabet.values())}
    for line in MERGES.read_text(encoding="utf-8").splitlines()[1:]:
        ranks[bytes(alphabet[c] for c in line.replace(" ", "", 1))] = len(ranks)
    return tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def load_hugging_face() -> tokenizers.Tokenizer:
    vocab = {c: i for i, c in enumerate(byte_alphabet())}
    merges = []
    for line in MERGES.read_text(encoding="utf-8").splitlines()[1:]:
        left, right = line.split(" ")
        merges.append((left, right))
        vocab[left + right] = len(vocab)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def snug_ids(program: str, texts: list[bytes]) -> list[list[int]]:
    with tempfile.NamedTemporaryFile() as file:
        for text in texts:
            file.write(struct.pack("<I", len(text)) + text)
        file.flush()
        out = subprocess.run([program, "ids", file.name], capture_output=True, check=True).stdout
    found, at = [], 0
    while at < len(out):
        (count,) = struct.unpack_from("<I", out, at)
        found.append(list(struct.unpack_from(f"<{count}H", out, at + 4)))
        at += 4 + 2 * count
    return found


def all_characters() -> list[str]:
    """Every code point, between letters, numbers, spaces and itself."""
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return ["".join(f"a{c}b {c}1{c}.{c} {c}  {c}'s\n" for c in characters[i : i + 16])
            for i in range(0, len(characters), 16)]


def lone_characters() -> list[str]:
    """Every code point as a text of its own."""
    return [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def wild_texts(count: int) -> list[str]:
    """Characters of all of Unicode beside those that the pattern names."""
    draw = random.Random(2)
    known = " \n\t'sdmtlver1a.\u00a0\u3000é你"

    def character() -> str:
        if draw.random() < 0.6:
            return draw.choice(known)
        code = draw.randrange(0x110000 - 0x800)
        return chr(code if code < 0xD800 else code + 0x800)

    return ["".join(character() for _ in range(draw.randrange(1, 24))) for _ in range(count)]


def random_texts(count: int) -> list[str]:
    draw = random.Random(1)
    pools = [
        "abcdefghijklmnopqrstuvwxyz", "etaoin shrdlu", " \n\t\r\v\f", "'sdmtlver ", "0123456789",
        ".,;:!?-_()[]{}<|>/\\\"'`~@#$%^&*+=", "äöüßéèñçøåœ", "你好世界的是不了人在", "абвгдежз",
        "🙂🚀👩‍🔬🏳️‍🌈", "\u00a0\u2003\u3000\u200b\u2028", "\x00\x01\x1c\x7f\x85", "١٢٣½Ⅷ",
    ]
    texts = []
    for _ in range(count):
        text = ""
        for _ in range(draw.randrange(1, 12)):
            pool = draw.choice(pools)
            text += "".join(draw.choice(pool) for _ in range(draw.randrange(1, 14)))
        if draw.random() < 0.1:
            text += "".join(chr(draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)]))
                            for _ in range(20))
        texts.append(text)
    return texts + ["", "a" * 100_000, "ab" * 50_000, " " * 10_000, "\n" * 999 + "x", "!?" * 5000]


def compare(name: str, program: str, texts: list[str], reference) -> int:
    ours = snug_ids(program, [text.encode() for text in texts])
    wrong = [text for text, ids in zip(texts, ours, strict=True) if reference(text) != ids]
    print(f"{name}: {len(texts)} texts, {sum(map(len, ours))} tokens, {len(wrong)} differ")
    for text in wrong[:5]:
        print("  ", ascii(text[:80]))
    return len(wrong)


def compare_all(program: str, text: str, openai, hugging_face) -> int:
    characters, mixed, differing = all_characters(), random_texts(20_000), 0
    for name, texts in (("every character", characters), ("each alone", lone_characters()),
                        ("random", mixed), ("wild", wild_texts(200_000)), ("the text", [text])):
        differing += compare(f"tiktoken, {name}", program, texts, openai.encode_ordinary)
    for name, texts in (("random", mixed), ("the text", [text])):
        compare(f"tokenizers, {name}", program, texts, lambda one: hugging_face.encode(one).ids)
    return differing


def timed(action) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("text", type=Path)
    parser.add_argument("--speed-only", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    openai, hugging_face = load_tiktoken(), load_hugging_face()
    text = arguments.text.read_bytes().decode("utf-8", errors="replace")
    differing = 0 if arguments.speed_only else compare_all(arguments.program, text, openai, hugging_face)
    size = len(text.encode()) / 1e6
    against = {"tiktoken": [], "tokenizers": []}
    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        for _ in range(arguments.rounds):
            command = [arguments.program, "speed", file.name]
            ours = float(subprocess.check_output(command).split()[0])
            theirs = {"tiktoken": timed(lambda: openai.encode_ordinary(text)),
                      "tokenizers": timed(lambda: hugging_face.encode(text))}
            print(f"snug {size / ours:.1f} MB/s, " + ", ".join(
                f"{name} {size / t:.1f} ({t / ours:.1f} x)" for name, t in theirs.items()))
            for name, t in theirs.items():
                against[name].append(t / ours)
    for name, ratios in against.items():
        print(f"{name}: {statistics.median(ratios):.1f} times as fast, median of {len(ratios)}")
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
