#!/usr/bin/env bash
# Makes FMUs and runs them in FMPy and Ecos, which it installs: tests/fmu/run.sh [DAELIGHT], or --prepare to install only.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/fmu-environment
python3 -m venv "$environment" 2>/dev/null || {
  # Debian keeps the module apart.
  apt-get install -y -q python3-venv >/dev/null
  python3 -m venv "$environment"
}
"$environment/bin/pip" install --quiet --disable-pip-version-check fmpy ecospy tbb
if [ "${1:-}" = --prepare ]; then exit; fi
daelight=$(realpath "${1:-target/debug/daelight}")
"$environment/bin/python" tests/fmu/check.py "$daelight"
