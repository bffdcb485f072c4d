#!/usr/bin/env bash
# Builds the extension beside the other crates, and runs the Python tests in an environment made for them.
#
#   python/test.sh           development build in place, pytest, mypy
#   python/test.sh --wheel   the same on a wheel as `pip install .` makes it
#   python/test.sh --prepare only installs what the tests need
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never

environment=target/python-environment
python3 -m venv "$environment" 2>/dev/null || {
  # Debian keeps the module apart.
  apt-get install -y -q python3-venv >/dev/null
  python3 -m venv "$environment"
}
bin="$PWD/$environment/bin"
"$bin/pip" install --quiet --disable-pip-version-check \
  numpy scipy sympy pandas pandas-stubs xarray matplotlib mypy pyright pytest distributed nbclient nbformat ipykernel control

if [ "${1:-}" = --prepare ]; then exit; fi

if [ "${1:-}" = --wheel ]; then
  "$bin/pip" install --quiet --disable-pip-version-check .
  cargo build --release --locked -p daelight-cli
  export DAELIGHT_PROGRAM="$PWD/target/release/daelight"
else
  # The whole workspace with its examples, so that the dependencies are those that its tests were built with.
  cargo build --workspace --lib --bins --examples --locked --features daelight-python/extension-module
  rm -f python/daelight/_daelight*.so
  cp target/debug/lib_daelight.so python/daelight/_daelight.abi3.so
  export PYTHONPATH="$PWD/python" DAELIGHT_PROGRAM="$PWD/target/debug/daelight"
fi

"$bin/python" -m mypy --no-error-summary
"$bin/pyright" --pythonpath "$bin/python"
"$bin/python" -m pytest -q -p no:cacheprovider python/tests
