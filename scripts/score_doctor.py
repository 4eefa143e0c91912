#!/usr/bin/env python3
"""Scores `snug doctor` against logs whose truth is known.

    scripts/score_doctor.py build/ci/snug FOLDER [--wrong] [--only=ID,...]

FOLDER holds truth.csv, logs/ID.txt and configs/ID.py: each log is read four ways, with its config
and without, whole and cut down to the traceback with its message. Or it holds public reports,
case_NN.txt, whose truth is in web_reports_truth.csv beside this script: each message is read with
the settings that its author gave and without. Prints how often cause and tensor are right, and how
often a run that died is said to fit as it is. --wrong lists every miss.
"""
import concurrent.futures
import csv
import json
import pathlib
import subprocess
import sys

WAYS = ("config+log", "config+bare", "log", "bare")
WEB_WAYS = ("config+log", "log")


def bare(text):
    """From the last traceback on."""
    start = text.rfind("Traceback (most recent call last)")
    return text[start:] if start >= 0 else text


def ask(snug, text, arguments):
    done = subprocess.run([snug, "doctor", "--log=-", "--json", *arguments], input=text,
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def diagnose(snug, folder, row, way):
    text = (folder / "logs" / f"{row['id']}.txt").read_text()
    arguments = []
    if "config" in way:
        arguments.append(str(folder / "configs" / f"{row['id']}.py"))
        if row["dataset"] not in ("openwebtext", "shakespeare_char"):
            arguments.append(f"--vocab_size={row['vocab_size']}")
    return ask(snug, bare(text) if "bare" in way else text, arguments)


def diagnose_report(snug, folder, row, way):
    """The quoted message alone: the rest of the file holds the answer."""
    text = (folder / f"case_{row['case']}.txt").read_text()
    quoted = text.split("ERROR TEXT", 1)[1].split("\n", 1)[1].split("\nCONFIG:", 1)[0]
    part = quoted.split("\n---\n")[int(row["part"]) - 1]
    settings = row["settings"].split() if "config" in way else []
    return ask(snug, part + "\n", [f"--{setting}" for setting in settings])


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def same_tensor(candidate, row):
    """The same elements and type; the last dimension alike, so that views count as one."""
    shape = [int(size) for size in row["shape"].split("x") if size]
    return (elements(candidate["shape"]) == elements(shape) and
            candidate["dtype"] in row["dtype_of_tensor"].split() and
            (not shape or not candidate["shape"] or candidate["shape"][-1] == shape[-1]))


def same_name(candidate, row):
    def plain(name):
        return name.split(" (")[0].removeprefix("transformer.")
    return "tensor" not in row or plain(candidate["tensor"]) == plain(row["tensor"])


def has_fix(answer):
    return bool(answer.get("recommended") or
                any(fix["fits"] for fix in answer.get("fixes") or []) or
                any(note["id"].startswith("advice") for note in answer.get("notes") or []))


def score(row, answer):
    candidates = answer.get("candidates") or []
    first = candidates[0] if candidates else None
    points = {"cause": answer.get("cause") in row["cause"].split()}
    if row["shape"]:
        points["first"] = bool(first) and same_tensor(first, row) and same_name(first, row)
        points["shape first"] = bool(first) and same_tensor(first, row)
        points["shape among"] = any(same_tensor(c, row) for c in candidates)
    if "phase" in row:
        points["phase"] = answer.get("phase") == row["phase"]
        points["fix"] = has_fix(answer)
    points["not 'fits as it is'"] = not answer.get("fits_as_is")
    points["no error"] = "error" not in answer
    return points


def told(row, answer):
    candidates = answer.get("candidates") or [{}]
    first = candidates[0]
    return (f"{row['id']}: {answer.get('cause')} for {row['cause']}; "
            f"{first.get('tensor')} {first.get('shape')} {first.get('dtype')} for "
            f"{row.get('tensor', '')} {row['shape']} {row['dtype_of_tensor']}; "
            f"{answer.get('phase')} for {row.get('phase', '?')} {answer.get('error', '')}")


def read_reports():
    with open(pathlib.Path(__file__).with_name("web_reports_truth.csv")) as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["id"] = f"{row['case']}.{row['part']}"
        row["cause"] = row.pop("causes")
        row["dtype_of_tensor"] = row.pop("dtype")
    return rows


def main():
    snug, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    options = sys.argv[3:]
    if (folder / "truth.csv").exists():
        with open(folder / "truth.csv") as file:
            rows = list(csv.DictReader(file))
        ways, ask_one = WAYS, diagnose
    else:
        rows, ways, ask_one = read_reports(), WEB_WAYS, diagnose_report
    for option in options:
        if option.startswith("--only="):
            rows = [row for row in rows if row["id"] in option[7:].split(",")]
        if option.startswith("--ways="):
            ways = option[7:].split(",")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for way in ways:
            answers = list(pool.map(lambda row: ask_one(snug, folder, row, way), rows))
            scores = [score(row, answer) for row, answer in zip(rows, answers)]
            keys = dict.fromkeys(key for points in scores for key in points)
            print(f"{way:12}", "  ".join(
                f"{key} {sum(s.get(key, False) for s in scores)}/{sum(key in s for s in scores)}"
                for key in keys))
            for row, answer, points in zip(rows, answers, scores):
                if "--wrong" in options and not (points["cause"] and
                                                 points.get("shape first", True)):
                    print("   ", told(row, answer))


if __name__ == "__main__":
    main()
