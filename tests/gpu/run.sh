#!/usr/bin/env bash
# All that only a real GPU can tell, in under eight minutes: tests/gpu/run.sh [folder for the results]
# Needs a GPU, Python with CuPy, and this checkout. What else is missing is taken from tests/gpu/wheels (see prepare.sh), or an index.
set -uo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
export GRADVIZ_GPU_OUT=${1:-tests/gpu/results}
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1
mkdir -p "$GRADVIZ_GPU_OUT"
GRADVIZ_GPU_OUT=$(cd "$GRADVIZ_GPU_OUT" && pwd)

"$PYTHON" -c 'import cupy; assert cupy.cuda.runtime.getDeviceCount()' 2>/dev/null || {
  echo "no GPU that CuPy can use: $("$PYTHON" -c 'import cupy; cupy.cuda.runtime.getDeviceCount()' 2>&1 | tail -1)" >&2
  exit 2
}

missing=()
for name in numpy scipy opt_einsum optree networkx pytest; do
  "$PYTHON" -c "import $name" 2>/dev/null || missing+=("$name")
done
if [ ${#missing[@]} -gt 0 ]; then
  packages=$(mktemp -d)
  offline=()
  [ -d tests/gpu/wheels ] && offline=(--no-index --find-links tests/gpu/wheels)
  "$PYTHON" -m pip install --quiet --no-deps "${offline[@]}" --target "$packages" "${missing[@]}" || exit 3
  if [[ " ${missing[*]} " == *" optree "* || " ${missing[*]} " == *" pytest "* ]]; then
    for name in typing_extensions pluggy iniconfig packaging pygments; do
      "$PYTHON" -c "import $name" 2>/dev/null ||
        "$PYTHON" -m pip install --quiet --no-deps "${offline[@]}" --target "$packages" "$name" || exit 3
    done
  fi
  export PYTHONPATH=$PWD:$packages
fi

"$PYTHON" - <<'PY' | tee "$GRADVIZ_GPU_OUT/machine.txt"
import datetime, platform, cupy, numpy
from cupy.cuda import runtime
about = runtime.getDeviceProperties(0)
print(datetime.date.today(), about["name"].decode(), f"{about['totalGlobalMem'] / 2**30:.0f} GiB", f"driver {runtime.driverGetVersion()}",
      f"CUDA {runtime.runtimeGetVersion()}", f"CuPy {cupy.__version__}", f"NumPy {numpy.__version__}", f"Python {platform.python_version()}", sep="   ")
PY

failed=0
part() { # name, seconds, command
  local name=$1 seconds=$2 start=$SECONDS
  shift 2
  timeout "$seconds" "$@" 2>&1 | tee "$GRADVIZ_GPU_OUT/$name.txt"
  local status=${PIPESTATUS[0]}
  summary+="$(printf '%-10s %-7s %4d s' "$name" "$([ "$status" = 0 ] && echo ok || echo "FAILED")" $((SECONDS - start)))"$'\n'
  [ "$status" = 0 ] || failed=1
}
summary=
part stories 90 "$PYTHON" -m tests.gpu.stories --out "$GRADVIZ_GPU_OUT"
part calibrate 60 "$PYTHON" -m tests.gpu.calibrate --out "$GRADVIZ_GPU_OUT"
part tests 300 "$PYTHON" -m pytest --quiet -W default --confcutdir=tests/gpu -p no:cacheprovider tests/gpu/test_gpu.py
printf '\n%s\n%s\nfiles in %s\n' "$(cat "$GRADVIZ_GPU_OUT/machine.txt")" "$summary" "$GRADVIZ_GPU_OUT"
exit $failed
