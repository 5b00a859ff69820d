#!/bin/sh
# Measures the default model on the sample corpus: sets the project up, indexes the articles, asks the questions, and
# rewrites the block of docs/measurements.md and its history.
#
#   corpus/measure.sh                      the page and its history change
#   corpus/measure.sh --no-write ...       they stay; further words go to `passageway eval`, such as
#                                          --include-cases --out DIR
set -eu
cd "$(dirname "$0")/.."
page="--write docs/measurements.md"
for word do
    shift
    case "$word" in --no-write) page= ;; *) set -- "$@" "$word" ;; esac
done
./dev setup
PATH="$PWD/.venv/bin:$PATH"
PASSAGEWAY_CONFIG="$PWD/corpus/passageway.toml"
export PATH PASSAGEWAY_CONFIG
unset PASSAGEWAY_INSTANCE
# shellcheck disable=SC2086
exec passageway eval corpus/questions.toml --leave-out \
    --sweep 0.80,0.81,0.82,0.83,0.84,0.845,0.85,0.86,0.87,0.88,0.89,0.90 $page "$@"
