#!/bin/sh
# Runs the tests of onnxport that need a GPU. The machine needs an NVIDIA driver and NVRTC, and cuBLAS unless
# `--without-cublas` is given. The exit status is 0 only if every test ran on the device and passed.
#
#   ./run.sh [--without-cublas]
#
# CUDA's libraries are looked for in the active Python's packages, in CUDA_HOME, CUDA_PATH, /usr/local/cuda*,
# LD_LIBRARY_PATH and the system's folders, and then in every folder below /opt, /usr, /home, /root, /srv and /venv.
cd "$(dirname "$0")" || exit 2
PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
export PATH
export ONNXPORT_GPU=required RUST_BACKTRACE=0
# Math modes that would change results.
unset NVIDIA_TF32_OVERRIDE CUBLAS_EMULATE_SINGLE_PRECISION CUBLAS_EMULATE_DOUBLE_PRECISION CUDA_LAUNCH_BLOCKING
# A test runs nothing but the one that is named.
unset RUST_TEST_THREADS RUST_TEST_NOCAPTURE
case "${1:-}" in
    --without-cublas) export ONNXPORT_GPU_CUBLAS=none ;;
    "") ;;
    *) echo "usage: run.sh [--without-cublas]"; exit 2 ;;
esac
# Seconds in all, so that the last line is written before a limit of ten minutes ends everything.
left=${SECONDS_AT_MOST:-470}
started=$(date +%s)

uname -srm
ldd --version 2>/dev/null | head -n 1
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "nvidia-smi says nothing"

room=$(mktemp -d) || exit 2
trap 'rm -rf "$room"' EXIT

# Folders that no variable names come last, those of the newest versions first.
timeout 20 find ${SEARCH_BELOW:-/opt /usr /home /root /srv /venv} \( -name 'libnvrtc.so.[0-9]*' -o -name 'libcublas.so.[0-9]*' \) \
    2>/dev/null | grep -v /stubs/ | sort -r >"$room/found"
for name in nvrtc cublas; do
    for file in $(grep "/lib$name[.]so" "$room/found" | head -n 3); do
        echo "found $file"
        LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$file")"
    done
done
[ -n "${LD_LIBRARY_PATH:-}" ] && export LD_LIBRARY_PATH

# A copy of the folder may have lost its modes, and may be read-only.
binary=./tests
if [ ! -x "$binary" ]; then
    cp tests "$room/tests" && chmod 755 "$room/tests" || exit 2
    binary=$room/tests
fi

failed=
why=
tests='@TESTS@'
for name in $tests; do
    now=$(date +%s)
    seconds=$((left - now + started))
    echo "== $name"
    if [ "$seconds" -lt 5 ]; then
        echo "== $name: FAILED: no time is left of $left s"
        failed=yes
        continue
    fi
    # Each has a process of its own: after a final error of the device nothing works in that process.
    { timeout -k 5 "$seconds" "$binary" --include-ignored --nocapture --test-threads=1 --exact "$name" 2>&1
        echo "status $?"; } | tee "$room/output"
    status=$(sed -n 's/^status //p' "$room/output" | tail -n 1)
    took=$(($(date +%s) - now))
    if [ "$status" = 0 ] && grep -q '^test result: ok\. 1 passed' "$room/output"; then
        echo "== $name: passed in $took s"
    else
        echo "== $name: FAILED after $took s (status $status; 124 and 137: it took too long)"
        failed=yes
        # Without a device, or without a library, the others fail in the same way.
        why=$(grep 'there is no GPU that can be used' "$room/output" | head -n 1)
        if [ -n "$why" ] || [ "$name" = "${tests%%
*}" ]; then
            break
        fi
    fi
done
if [ -n "$failed" ]; then
    echo "FAILED: ${why:-see above}"
    exit 1
fi
echo "passed: every test ran on the GPU, in $(($(date +%s) - started)) s"
