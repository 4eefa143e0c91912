"""Reads and writes golden fixtures: safetensors files that are the same bytes on every run.

Written by hand because the safetensors package orders the metadata at random. Only the two dtypes
the fixtures use (F32, I32), only little-endian machines. Not a general safetensors reader.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

DTYPES = {"F32": np.dtype("<f4"), "I32": np.dtype("<i4")}


def write(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Writes tensors in the given order; every array must already be float32 or int32."""
    header: dict[str, object] = {"__metadata__": metadata}
    offset = 0
    for name, array in tensors.items():
        dtype = next(key for key, value in DTYPES.items() if value == array.dtype)
        end = offset + array.nbytes
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Returns (tensors, metadata) of a file made by write()."""
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(raw[8 + length + begin : 8 + length + end], DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, metadata
