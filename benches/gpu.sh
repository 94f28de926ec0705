#!/usr/bin/env bash
# A training step on a GPU, and the same in PyTorch on the same card, in about eight minutes: one JSON line each.
#   benches/gpu.sh [NAME]     a part of the adapter's name; without it the system's first
# Builds with `--features gpu`. PyTorch with CUDA is timed where it is installed. PROGRAMS is a folder with programs that
# are built already, on a machine without Rust.
set -euo pipefail
cd "$(dirname "$0")/.."
device=gpu${1:+:$1}
if [ -z "${PROGRAMS:-}" ]; then
    cargo build -q --release --locked --features gpu -p train-gpt-mha
    PROGRAMS=${CARGO_TARGET_DIR:-target}/release
fi
ours() {
    [ "$SECONDS" -lt 300 ] || { echo "\"left out, for want of time: $*\""; return; }
    timeout 60 "$PROGRAMS/train-gpt-mha" bench --device "$device" --json --workload "$@" || echo "\"failed: $*\""
}
SECONDS=0 # of the measurements
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
stories=(w1 --layers 2 --dmodel 64 --heads 4 --seq 256 --batch 8 --vocab 256)
ours "${stories[@]}" --steps 300
ours w1 --steps 300
ours w3 --steps 60
ours w3 --batch 64 --steps 20
ours w4 --steps 30
ours w4 --seq 1024 --steps 10
for size in w3 "w3 --batch 64" w4 "w4 --seq 1024"; do
    # shellcheck disable=SC2086 # a size is several words
    ours $size --steps 30 --matmul f16
done
# The same step by its list: each kernel's arithmetic and bytes, and the least time for them by CARD, TFLOP/s and GB/s of its
# data sheet, such as CARD="67 3350".
if command -v cargo >/dev/null; then
    # shellcheck disable=SC2086 # two numbers
    cargo run -q --release --locked -p llm-gpu --example what_a_step_costs -- w4 ${CARD:-}
fi
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    timeout 150 python3 benches/peers/torch_gpu.py
else
    echo '"no PyTorch with CUDA here"'
fi
