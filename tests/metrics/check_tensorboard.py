"""Reads a run's event files with TensorBoard itself and holds them against metrics.jsonl.

    python3 -m venv VENV && VENV/bin/pip install tensorboard
    VENV/bin/python tests/metrics/check_tensorboard.py OUT_DIR

Run by hand: TensorBoard is not a part of the tests.
"""

import json
import math
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

TAGS = {"loss": "loss/batch", "lr": "learning_rate", "grad_norm": "gradient_norm",
        "tokens_per_second": "speed/tokens_per_second", "time_ms": "speed/milliseconds",
        "train_loss": "loss/train", "val_loss": "loss/val"}

out_dir = Path(sys.argv[1])
events = EventAccumulator(str(out_dir / "tensorboard"), size_guidance={"scalars": 0})
events.Reload()
found = {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}
print("tags:", ", ".join(sorted(found)))
wanted = {tag: {} for tag in TAGS.values()}
for line in (out_dir / "metrics.jsonl").read_text().splitlines():
    entry = json.loads(line)
    for key, tag in TAGS.items():
        if entry.get(key) is not None:
            wanted[tag][entry["iter"]] = entry[key]
for tag, values in wanted.items():
    assert found[tag].keys() == values.keys(), (tag, sorted(found[tag].keys() ^ values.keys()))
    for step, value in values.items():
        assert math.isclose(found[tag][step], value, rel_tol=1e-4, abs_tol=0.06 * ("speed" in tag)), (
            tag, step, value, found[tag][step])
for tag in ("memory/resident_GiB",):
    assert found[tag].keys() == wanted["loss/batch"].keys() and min(found[tag].values()) > 0, tag
print(sum(map(len, wanted.values())), "values agree; mfu:", len(found.get("speed/mfu_percent", {})))
