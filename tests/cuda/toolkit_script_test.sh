#!/usr/bin/env bash
# scripts/cuda_toolkit with toolkits and drivers of our own.
# usage: toolkit_script_test.sh SCRIPT
set -euo pipefail
script=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# make_toolkit NAME VERSION
make_toolkit() {
  mkdir -p "$folder/$1/bin" "$folder/$1/include" "$folder/$1/lib"
  printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$2" "$2" >"$folder/$1/bin/nvcc"
  chmod +x "$folder/$1/bin/nvcc"
  touch "$folder/$1/include/cublasLt.h" "$folder/$1/lib/libcudart_static.a" "$folder/$1/lib/libcublasLt.so.13"
}
# A driver that knows this version of CUDA.
make_driver() {
  mkdir -p "$folder/path"
  printf '#!/bin/sh\necho "| Driver Version: 1   CUDA Version: %s |"\n' "$1" >"$folder/path/nvidia-smi"
  chmod +x "$folder/path/nvidia-smi"
}
run() { CUDA_HOME=$folder/$1 PATH=$folder/path:$PATH "$script" 2>"$folder/said"; }
fail() {
  echo "$1" >&2
  cat "$folder/said" >&2
  exit 1
}

make_toolkit new 13.0
make_toolkit enough 12.8
make_toolkit old 12.4
make_toolkit older 9.10
make_driver 13.0
for name in new enough; do
  [ "$(run $name)" = "$folder/$name" ] || fail "$name was not taken"
  [ ! -s "$folder/said" ] || fail "nothing was to be said"
done
for name in old older; do
  [ "$(run $name || true)" != "$folder/$name" ] || fail "$name was taken"
  grep -q "passed over: $folder/$name has nvcc .* 12.8 or later is needed" "$folder/said" || fail "not said"
done
rm "$folder/new/lib/libcublasLt.so.13"
[ "$(run new || true)" != "$folder/new" ] || fail "one without cuBLASLt was taken"

make_toolkit new 13.0
make_driver 12.4
[ "$(run new)" = "$folder/new" ] || fail "an old driver hinders building"
grep -q "the driver of this machine knows CUDA 12.4" "$folder/said" || fail "the old driver was not told"

printf '#!/bin/sh\nexit 9\n' >"$folder/path/nvidia-smi"
[ "$(run new)" = "$folder/new" ] || fail "a driver that does not answer hinders building"
rm "$folder/path/nvidia-smi"
[ "$(run new)" = "$folder/new" ] || fail "no driver hinders building"
