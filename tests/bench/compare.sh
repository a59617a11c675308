#!/usr/bin/env bash
# Tokens per second of sspc's uncut program and of PyTorch, in turns. See README.md beside this file.
set -eu
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=$here/../..
sspc=${SSPC:-$root/build/release/bin/sspc}
threads=${1:-1}
rounds=${2:-3}
steps=12
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

shape=(--set hidden=256 --set heads=8 --set seq=256 --set batch=8 --set layers=4)

# Tokens per second of the later half of the steps of one run: sspc_rate BLAS-threads options…
sspc_rate() {
    local blas=$1
    shift
    OPENBLAS_NUM_THREADS=$blas "$sspc" run "$root/samples/gpt.ssp" "${shape[@]}" "$@" -- \
        --steps "$steps" --metrics "$scratch/metrics.jsonl" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        exit 3
    }
    sed 's/.*"step_ms": *\([0-9.e+-]*\).*/\1/' "$scratch/metrics.jsonl" |
        awk -v steps="$steps" 'NR > steps / 2 { sum += $1; n++ } END { printf "%.0f\n", 8 * 256 * n / (sum / 1000) }'
}

has_torch=no
for python in python3 /usr/bin/python3; do # Debian's package is for Debian's own python3
    if "$python" -c 'import torch' 2>/dev/null; then
        has_torch=yes
        break
    fi
done
if [ $has_torch = no ]; then
    echo "python3 cannot import torch: sspc alone (apt-get install python3-torch)"
fi
sspc_rate "$threads" --plan single >/dev/null # builds the program
for ((round = 1; round <= rounds; round++)); do
    ours=$(sspc_rate "$threads" --plan single)
    if [ $has_torch = yes ]; then
        theirs=$(OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$python" "$here/gpt_torch.py" "$steps" "$threads")
        echo "round $round, $threads thread(s): sspc $ours tokens/s, PyTorch $theirs tokens/s, ratio $(awk "BEGIN { printf \"%.2f\", $ours / $theirs }")"
    else
        echo "round $round, $threads thread(s): sspc $ours tokens/s"
    fi
done

one=$(sspc_rate 1 --plan megatron --set pp=1 --set tp=1 --set dp=1 --set micro=1)
two=$(sspc_rate 1 --plan megatron --set pp=1 --set tp=1 --set dp=2 --set micro=1)
echo "device threads, one core each: 1 gives $one tokens/s, 2 give $two, ratio $(awk "BEGIN { printf \"%.2f\", $two / $one }")"
