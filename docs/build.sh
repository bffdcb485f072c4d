#!/usr/bin/env bash
# Builds the book of docs/ into target/book; a broken link is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -x target/book-env/bin/mkdocs ]; then
  python3 -m venv target/book-env
  target/book-env/bin/pip install --quiet --disable-pip-version-check mkdocs==1.6.1
fi
if [ "${1:-}" = --prepare ]; then exit; fi
target/book-env/bin/mkdocs build --strict --quiet
