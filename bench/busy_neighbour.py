#!/usr/bin/env python3
"""Sampling and training beside other processes that keep cores busy.

Each way to wait and each number of threads runs in turns, round after round, so that whatever else
the machine does falls on all of them; the table shows the median and the range of the rounds.

usage: bench/busy_neighbour.py build/release/snug [--rounds=5] [--neighbours=0,1,2]
                               [--tokens=500] [--iterations=60]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

MODEL = ["--dataset=tales", "--device=cpu", "--n_layer=4", "--n_head=4", "--n_embd=128",
         "--block_size=64", "--batch_size=12", "--gradient_accumulation_steps=1", "--dropout=0.0",
         "--eval_iters=1", "--eval_interval=100000", "--log_interval=1000", "--quiet"]
# 300000 is what GNU's OpenMP does by itself as long as it has no more threads than cores.
WAYS = {
    "default": ({}, []),
    "one thread": ({}, ["--threads=1"]),
    "passive waiting": ({"OMP_WAIT_POLICY": "passive"}, []),
    "GNU's spinning": ({"GOMP_SPINCOUNT": "300000"}, []),
}


def run(snug, folder, arguments, variables=None):
    began = time.monotonic()
    subprocess.run([snug, *arguments], cwd=folder, check=True, env={**os.environ, **(variables or {})},
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def work_of(tokens, iterations):
    return {
        f"sample, {tokens} tokens": ["sample", "--out_dir=out", "--num_samples=1",
                                     f"--max_new_tokens={tokens}"],
        f"train, {iterations} iterations": ["train", *MODEL, "--out_dir=scratch",
                                            f"--max_iters={iterations - 1}"],
    }


def measure(snug, folder, rounds, works):
    times = {}
    for _ in range(rounds):
        for work, arguments in works.items():
            for way, (variables, more) in WAYS.items():
                times.setdefault((work, way), []).append(
                    run(snug, folder, arguments + more, variables))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("snug")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--neighbours", default="0,1,2", help="busy processes beside it, in turns")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args()
    snug = os.path.abspath(options.snug)
    print(f"{os.cpu_count()} cores, {options.rounds} rounds in turns; seconds: median (range)")
    with tempfile.TemporaryDirectory() as folder:
        run(snug, folder, ["prepare", "tales", "data/tales"])
        run(snug, folder, ["train", *MODEL, "--out_dir=out", "--max_iters=2"])
        for count in [int(text) for text in options.neighbours.split(",")]:
            busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                    for _ in range(count)]
            try:
                times = measure(snug, folder, options.rounds,
                                work_of(options.tokens, options.iterations))
            finally:
                for process in busy:
                    process.kill()
                    process.wait()
            for (work, way), seconds in times.items():
                print(f"{count} busy  {work:<21} {way:<16} {statistics.median(seconds):6.2f} "
                      f"({min(seconds):.2f} to {max(seconds):.2f})", flush=True)


if __name__ == "__main__":
    main()
