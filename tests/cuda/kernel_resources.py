#!/usr/bin/env python3
"""Compiles every kernel for every architecture with nvcc and checks what ptxas makes of it: no spills,
no stack, and at least MIN_WARPS percent of the warps resident (theoretical, without dynamic shared
memory). Prints the table.

usage: kernel_resources.py TOOLKIT SOURCE_ROOT OCCUPANCY_PROGRAM [ARCH...]"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MIN_WARPS = 8  # a kernel with less cannot hide latency at all
# What is known and waits to be better: kernel with its template arguments, as c++filt has them, and arch.
KNOWN = {
    ("cross_entropy_kernel<__nv_bfloat16, 8, 7, 1024>", "90"): "14 + 28 bytes spilled",
    ("cross_entropy_kernel<__nv_bfloat16, 8, 7, 1024>", "120"):
        "16 + 32 bytes spilled, with 800 threads and 72 of 80 registers used as well",
    ("backward_kernel<128, true>", "75"): "6% of the warps; float32 on Turing",
    ("backward_kernel<128, false>", "75"): "6% of the warps; float32 on Turing",
}


def plain(symbol):
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout.strip()
    return name.replace("(anonymous namespace)::", "").replace("void ", "").replace("snug::cuda::", "").split("(")[0]


def compile_kernel(nvcc, root, source, arch, out):
    command = [nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-arch=sm_{arch}", "-I" + str(root / "src"),
               "-Xptxas", "-v", "--keep", "--keep-dir", out, "-cubin", str(source),
               "-o", f"{out}/kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [(source.name, arch, done.stderr.strip()[-600:])], []
    bounds = {}
    for text in Path(out).glob("*.ptx"):
        for name, head in re.findall(r"\.entry (\w+)\((.*?)\n\{", text.read_text(), re.S):
            found = re.search(r"\.maxntid (\d+)", head)
            bounds[name] = int(found.group(1)) if found else 0
    rows, problems = [], []
    parts = re.split(r"Compiling entry function '", done.stderr)[1:]
    for part in parts:
        name = part.split("'")[0]
        registers = int(re.search(r"Used (\d+) registers", part).group(1))
        shared = re.search(r"(\d+) bytes smem", part)
        stack, stores, loads = map(int, re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        if stores or loads:
            problems.append((name, arch, f"spills {stores} + {loads} bytes"))
        threads = bounds.get(name, 0)
        if not threads:
            problems.append((name, arch, "no __launch_bounds__"))
        rows.append((arch, registers, int(shared.group(1)) if shared else 0, threads or 256, name, stack))
    return problems, rows


def main():
    toolkit, root, occupancy = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    archs = sys.argv[4:] or ["75", "80", "86", "89", "90", "120"]
    sources = sorted((root / "src/backend/cuda/kernels").rglob("*.cu"))
    problems, rows = [], []

    def one(task):
        source, arch = task
        with tempfile.TemporaryDirectory() as out:
            return compile_kernel(str(toolkit / "bin/nvcc"), root, source, arch, out)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for bad, good in pool.map(one, [(s, a) for s in sources for a in archs]):
            problems += bad
            rows += good
    text = "".join(f"{a} {r} {s} {t} {n}\n" for a, r, s, t, n, _ in rows)
    table = subprocess.run([occupancy], input=text, capture_output=True, text=True, check=True).stdout
    print(f"{'arch':>5} {'regs':>5} {'smem':>6} {'block':>6} {'warps':>6}  kernel")
    for line in table.splitlines():
        arch, registers, shared, threads, warps, name = line.split()
        print(f"{arch:>5} {registers:>5} {shared:>6} {threads:>6} {warps:>5}%  {plain(name)}")
        if int(warps) < MIN_WARPS:
            problems.append((name, arch, f"{warps}% of the warps"))
    news = 0
    for name, arch, problem in problems:
        known = (plain(name), arch) in KNOWN
        news += not known
        print("known" if known else "NEW", f"{plain(name)} sm_{arch}: {problem}")
    print(f"{len(rows)} kernels of {len(sources)} files for {len(archs)} architectures: "
          f"{len(problems)} problems, {news} of them new")
    return 1 if news or not rows else 0


sys.exit(main())
