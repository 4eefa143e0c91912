#!/usr/bin/env python3
"""Compiles every kernel for every architecture as the build does, from one PTX for Turing and one for
later cards, and checks what ptxas makes of it: no spills, no stack, at least MIN_WARPS percent of the
warps resident (theoretical, without dynamic shared memory), no more code than MAX_CODE; and that the PTX of kernels that only go through
memory reads and writes it 128 bits at a time. Prints the table.

usage: kernel_resources.py TOOLKIT SOURCE_ROOT OCCUPANCY_PROGRAM [ARCH...]"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MIN_WARPS = 8  # a kernel with less cannot hide latency at all
# CUDA loads a kernel when it first runs, after the card's memory was looked at: all of them have to fit
# beside cuBLASLt's in what a run leaves free for that (kLoadedLaterBytes in backend/cuda/card.h).
MAX_CODE = 8 << 20
# What is written for 128-bit accesses and has no path of its own for what is not aligned.
STREAMING = {"elementwise", "embedding", "embedding_backward", "loss", "norm", "norm_backward"}
# Kernels that start anywhere in a list of 32-bit indices. nvcc unrolls their loop into several narrow loads side by side;
# these were never one 128-bit load, so they are not counted as one taken apart.
WALKING = {"row_kernel"}
# What is known and waits to be better: kernel with its template arguments, as c++filt has them, and arch.
KNOWN = {
    ("backward_kernel<128, true>", "75"): "6% of the warps; float32 on Turing",
    ("backward_kernel<128, false>", "75"): "6% of the warps; float32 on Turing",
}


def plain(symbol):
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout.strip()
    return name.replace("(anonymous namespace)::", "").replace("void ", "").replace("snug::cuda::", "").split("(")[0]


def ptx_version(arch):  # as in cmake/snug_toolkit.cmake
    return "75" if int(arch) < 80 else "80"


def split_accesses(ptx):
    """Kernels in which narrow accesses from one base make up 16 aligned bytes: nvcc took a wide one apart."""
    access = re.compile(r"(ld|st)\.global[\w.:]*?\.(?:v(\d)\.)?[busf](\d+)\s.*?\[(%rd\d+)(?:\+(-?\d+))?\]")
    for name, body in re.findall(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", ptx, re.S):
        touched = {}
        for kind, lanes, bits, base, offset in access.findall(body):
            size, start = int(lanes or 1) * int(bits) // 8, int(offset or 0)
            if size < 16:
                touched.setdefault((kind, base), set()).update(range(start, start + size))
        whole = [start for where in touched.values() for start in where
                 if start % 16 == 0 and set(range(start, start + 16)) <= where]
        if whole:
            yield name


def make_ptx(toolkit, root, source, version, out):
    """Kernels' launch bounds by name, and the text's path; or what nvcc says is wrong."""
    text = Path(out) / f"{source.stem}.{version}.ptx"
    command = [str(toolkit / "bin/nvcc"), "-std=c++20", "-O3", "--expt-relaxed-constexpr",
               f"-arch=compute_{version}", "-I" + str(root / "src"), "-ptx", str(source), "-o", str(text)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, {}, done.stderr.strip()[-600:]
    bounds = {}
    for name, head in re.findall(r"\.entry (\w+)\((.*?)\n\{", text.read_text(), re.S):
        found = re.search(r"\.maxntid (\d+)", head)
        bounds[name] = int(found.group(1)) if found else 0
    return text, bounds, ""


def cubin_of(text, arch):
    return f"{text}.{arch}.cubin"


def assemble(toolkit, text, bounds, arch):
    command = [str(toolkit / "bin/ptxas"), "-v", "-O3", f"-arch=sm_{arch}", str(text),
               "-o", cubin_of(text, arch)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [(text.name, arch, done.stderr.strip()[-600:])], []
    rows, problems = [], []
    for part in re.split(r"Compiling entry function '", done.stderr)[1:]:
        name = part.split("'")[0]
        registers = int(re.search(r"Used (\d+) registers", part).group(1))
        shared = re.search(r"(\d+) bytes smem", part)
        stores, loads = map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        # A stack is taken of the card's memory for every thread that it can hold.
        if stack := int(re.search(r"(\d+) bytes stack frame", part).group(1)):
            problems.append((name, arch, f"a stack of {stack} bytes"))
        if stores or loads:
            problems.append((name, arch, f"spills {stores} + {loads} bytes"))
        threads = bounds.get(name, 0)
        if not threads:
            problems.append((name, arch, "no __launch_bounds__"))
        rows.append((arch, registers, int(shared.group(1)) if shared else 0, threads or 256, name))
    return problems, rows


def compile_all(toolkit, root, sources, archs):
    problems, rows = [], []
    versions = sorted({ptx_version(a) for a in archs})
    with tempfile.TemporaryDirectory() as out, ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [(s, v) for s in sources for v in versions]
        made = pool.map(lambda task: make_ptx(toolkit, root, *task, out), tasks)
        texts = []
        for (source, version), (text, bounds, error) in zip(tasks, made):
            if text is None:
                problems.append((source.name, version, error))
            elif source.stem in STREAMING:
                problems += [(name, version, "128 bits read or written in pieces")
                             for name in split_accesses(text.read_text())
                             if not any(walking in name for walking in WALKING)]
            texts += [(text, bounds, a) for a in archs if text and ptx_version(a) == version]
        for bad, good in pool.map(lambda task: assemble(toolkit, *task), texts):
            problems += bad
            rows += good
        for arch in archs:
            # Where ptxas failed there is no file; its message is among the problems.
            cubins = [Path(cubin_of(t, a)) for t, _, a in texts if a == arch]
            code = sum(cubin.stat().st_size for cubin in cubins if cubin.exists())
            print(f"sm_{arch}: {code / 2**20:.1f} MiB of code")
            if code > MAX_CODE:
                problems.append(("all kernels", arch, f"{code} bytes of code"))
    return problems, rows


def main():
    toolkit, root, occupancy = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    archs = sys.argv[4:] or ["75", "80", "86", "89", "90", "120"]
    sources = sorted((root / "src/backend/cuda/kernels").rglob("*.cu"))
    problems, rows = compile_all(toolkit, root, sources, archs)
    text = "".join(f"{a} {r} {s} {t} {n}\n" for a, r, s, t, n in rows)
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
