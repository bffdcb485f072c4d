"""The examples in docstrings and pages run."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = ["", "animation", "dae", "documents", "errors", "figure", "model", "results", "sweep", "symbolic", "words"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = importlib.import_module(f"daelight.{name}" if name else "daelight")
    failed, _ = doctest.testmod(module)
    assert failed == 0


@pytest.mark.parametrize("page", ["python/README.md", "docs/guide/python.md"])
def test_pages(page: str, root: Path, tmp_path: Path) -> None:
    """Python blocks run one after the other, and print what stands below them."""
    text = (root / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.DOTALL)
    assert blocks
    code = "\n".join(block for block, _ in blocks)
    expected = "".join(printed for _, printed in blocks)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_other_solvers(root: Path, tmp_path: Path) -> None:
    """What the guide shows of scipy is what scipy prints."""
    pytest.importorskip("scipy")
    page = (root / "docs/guide/what-is-an-index.md").read_text()
    shown = "\n".join(re.findall(r"```text\n((?:length|elbow).*?)\n```", page, re.DOTALL))
    done = subprocess.run(
        [sys.executable, str(root / "docs/guide/other_solvers.py"), str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout.strip() == shown.strip()
    assert (tmp_path / "rod-rk45.csv").exists()


def test_the_module_is_the_command(program: str) -> None:
    environment = {**os.environ, "DAELIGHT_PROGRAM": program}
    words = [sys.executable, "-m", "daelight", "explain", "jet"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout.startswith("jet")


def test_examples(root: Path, tmp_path: Path) -> None:
    for path in sorted((root / "python/examples").glob("*.py")):
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
