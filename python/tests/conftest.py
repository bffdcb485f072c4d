"""What several tests need."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def program() -> str:
    """The command line program, built with the same profile."""
    chosen = os.environ.get("DAELIGHT_PROGRAM")
    for place in (chosen, ROOT / "target/debug/daelight", ROOT / "target/release/daelight"):
        if place and Path(place).exists():
            return str(place)
    found = shutil.which("daelight")
    assert found, "build the program first: cargo build -p daelight-cli"
    return found
