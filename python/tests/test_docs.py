"""The examples in docstrings and pages run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = ["", "animation", "dae", "documents", "errors", "figure", "linear", "model", "results", "sweep", "symbolic", "words"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = importlib.import_module(f"daelight.{name}" if name else "daelight")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_help_has_an_example_for_everything() -> None:
    import daelight

    without = []
    for name in daelight.__all__:
        thing = getattr(daelight, name)
        if callable(thing) and ">>>" not in (thing.__doc__ or ""):
            without.append(name)
        for part, member in vars(thing).items() if isinstance(thing, type) else ():
            function = getattr(member, "__func__", member)
            if not part.startswith("_") and inspect.isfunction(function) and ">>>" not in (function.__doc__ or ""):
                without.append(f"{name}.{part}")
    assert not without


@pytest.mark.parametrize("page", ["python/README.md", "docs/guide/python.md", "docs/guide/linearize.md"])
def test_pages(page: str, root: Path, tmp_path: Path) -> None:
    """Python blocks run one after the other, and print what stands below them; models of the page are files."""
    text = (root / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.DOTALL)
    assert blocks
    if "import control" in text:
        pytest.importorskip("control")
    for model in re.findall(r"```modelica\n(model (\w+).*?)```", text, re.DOTALL):
        (tmp_path / f"{model[1].lower()}.mo").write_text(model[0])
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


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "jet"],
        ["solve", "robotic-arm"],
        ["solve", "spring-mass", "--points", "3", "--out", "-"],
        ["solve", "pendulums"],
        ["analyze"],
        ["solve", "--help"],
    ],
)
def test_the_module_is_the_command(words: list[str], program: str, tmp_path: Path) -> None:
    """It needs no program beside it, and prints the same with the same exit status."""
    asked = subprocess.run([program, *words], capture_output=True, text=True, env=dict(os.environ))
    alone = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "daelight", *words], capture_output=True, text=True, env=alone)
    assert (done.returncode, done.stdout, done.stderr) == (asked.returncode, asked.stdout, asked.stderr)


def test_examples(root: Path, tmp_path: Path) -> None:
    for path in sorted((root / "python/examples").glob("*.py")):
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
