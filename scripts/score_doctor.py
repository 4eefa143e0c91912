#!/usr/bin/env python3
"""Scores `snug doctor` against logs whose truth is known.

    scripts/score_doctor.py build/ci/snug FOLDER [--wrong] [--only=ID,...]

FOLDER holds truth.csv, logs/ID.txt and configs/ID.py. Each log is read four ways: with its config
and without, whole and cut down to the traceback with its message. Prints how often cause and tensor
are right, and how often a run that died is said to fit as it is. --wrong lists every miss.
"""
import concurrent.futures
import csv
import json
import pathlib
import subprocess
import sys

WAYS = ("config+log", "config+bare", "log", "bare")


def bare(text):
    """From the last traceback on."""
    start = text.rfind("Traceback (most recent call last)")
    return text[start:] if start >= 0 else text


def diagnose(snug, folder, row, way):
    text = (folder / "logs" / f"{row['id']}.txt").read_text()
    arguments = [snug, "doctor", "--log=-", "--json"]
    if "config" in way:
        arguments.append(str(folder / "configs" / f"{row['id']}.py"))
        if row["dataset"] not in ("openwebtext", "shakespeare_char"):
            arguments.append(f"--vocab_size={row['vocab_size']}")
    done = subprocess.run(arguments, input=bare(text) if "bare" in way else text,
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def same_tensor(candidate, row):
    """The same elements and type; the last dimension alike, so that views count as one."""
    shape = [int(size) for size in row["shape"].split("x") if size]
    return (elements(candidate["shape"]) == elements(shape) and
            candidate["dtype"] == row["dtype_of_tensor"] and
            (not shape or not candidate["shape"] or candidate["shape"][-1] == shape[-1]))


def same_name(candidate, row):
    def plain(name):
        return name.split(" (")[0].removeprefix("transformer.")
    return plain(candidate["tensor"]) == plain(row["tensor"])


def score(row, answer):
    candidates = answer.get("candidates") or []
    first = candidates[0] if candidates else None
    return {
        "cause": answer.get("cause") == row["cause"],
        "first": bool(first) and same_tensor(first, row) and same_name(first, row),
        "shape first": bool(first) and same_tensor(first, row),
        "shape among": any(same_tensor(c, row) for c in candidates),
        "phase": answer.get("phase") == row["phase"],
        "not 'fits as it is'": not answer.get("fits_as_is"),
        "fix": bool(answer.get("recommended") or answer.get("advice") or
                    any(fix["fits"] for fix in answer.get("fixes") or [])),
        "no error": "error" not in answer,
    }


def told(row, answer):
    candidates = answer.get("candidates") or [{}]
    first = candidates[0]
    return (f"{row['id']}: {answer.get('cause')} for {row['cause']}; "
            f"{first.get('tensor')} {first.get('shape')} {first.get('dtype')} for "
            f"{row['tensor']} {row['shape']} {row['dtype_of_tensor']}; "
            f"{answer.get('phase')} for {row['phase']} {answer.get('error', '')}")


def main():
    snug, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    options = sys.argv[3:]
    with open(folder / "truth.csv") as file:
        rows = list(csv.DictReader(file))
    for option in options:
        if option.startswith("--only="):
            rows = [row for row in rows if row["id"] in option[7:].split(",")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for way in WAYS:
            answers = list(pool.map(lambda row: diagnose(snug, folder, row, way), rows))
            scores = [score(row, answer) for row, answer in zip(rows, answers)]
            print(f"{way:12}", "  ".join(
                f"{key} {sum(s[key] for s in scores)}/{len(scores)}" for key in scores[0]))
            for row, answer, points in zip(rows, answers, scores):
                if "--wrong" in options and not (points["cause"] and points["first"]):
                    print("   ", told(row, answer))


if __name__ == "__main__":
    main()
