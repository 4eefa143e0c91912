#!/usr/bin/env bash
# Plans GPT-2 for a card that is too small, and holds the page against the JSON in a browser.
# usage: plan_page_test.sh SNUG SOURCE
set -euo pipefail
snug=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
code=0
"$snug" plan "$source/config/train_gpt2.py" --card=rtx3060 --batch_size=64 \
  --gradient_accumulation_steps=8 --html="$folder/plan.html" --json >"$folder/plan.json" || code=$?
[ "$code" -eq 3 ] || { echo "plan ended with $code, 3 was expected" >&2; exit 1; }
python3 "$source/tests/browser/plan_page_test.py" "$folder/plan.html" "$folder/plan.json"
