#!/usr/bin/env bash
# Fetch what run.sh needs beside CuPy, for a machine that reaches no package index.
#   tests/gpu/prepare.sh 3.12      the Python version of that machine
set -euo pipefail
cd "$(dirname "$0")"
python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version "${1:?which Python version?}" \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
  --dest wheels opt_einsum optree typing_extensions networkx pytest pluggy iniconfig packaging pygments
ls -l wheels
