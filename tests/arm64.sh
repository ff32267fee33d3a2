#!/bin/bash
# Runs tests as they run on ARM64, under qemu-user: `make test-arm ARGS="tests/board"`. Needs Debian or Ubuntu with the
# package qemu-user-static and its entry in binfmt_misc. Python, the C library and the packages for ARM64 are put into
# build/arm64 the first time.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/build/arm64
system=$place/system
packages=$system/usr/lib/python3/dist-packages
python=.venv/bin/python
[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || {
    echo "programs for ARM64 do not run here: install qemu-user-static, which enters itself in binfmt_misc" >&2
    exit 1
}

if [ ! -e "$place/complete" ]; then
    mkdir -p "$place"/{lists/partial,cache/archives/partial,system}
    touch "$place/status"
    # A state of its own, in which nothing is installed: apt then brings all that the packages need.
    apt=(apt-get --quiet --quiet -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1
        -o Dir::State::lists="$place/lists" -o Dir::State::status="$place/status" -o Dir::Cache="$place/cache"
        -o APT::Sandbox::User="$(id --user --name)")
    "${apt[@]}" update
    "${apt[@]}" install --download-only --yes --no-install-recommends python3 libstdc++6
    for package in "$place"/cache/archives/*.deb; do dpkg --extract "$package" "$system"; done
    [ -e "$system/lib" ] || ln -s usr/lib "$system/lib"
    version=$(basename "$(readlink "$system/usr/bin/python3")")
    # For another machine pip takes wheels of the tags that it is given, not of older C libraries, too.
    tags=(--platform manylinux2014_aarch64)
    for minor in $(seq 17 40); do tags+=(--platform "manylinux_2_${minor}_aarch64"); done
    $python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --target "$packages" \
        --only-binary=:all: --python-version "${version#python}" --implementation cp "${tags[@]}" \
        click filelock llvmlite numba numpy openvino rich safetensors websockets hypothesis pytest pytest-timeout pytest-xdist
    # Has no wheel everywhere, and nothing that is compiled.
    $python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --target "$packages" --no-deps sgfmill
    touch "$place/complete"
fi

export QEMU_LD_PREFIX=$system KEIMA_CACHE=$place/kernels
# Without SVE: qemu's vectors of 2,048 bits, which no processor has, make OpenVINO's convolutions wrong.
export QEMU_CPU=${QEMU_CPU:-neoverse-n1}
mkdir -p "$KEIMA_CACHE"
exec "$system/usr/bin/python3" -m pytest -p no:cacheprovider --timeout=3600 "$@"
