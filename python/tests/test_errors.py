"""Failures are exceptions with the frames of the command line."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import pytest

import daelight

BROKEN = """model Broken
  parameter Real length = 1;
  Real x, y;
equation
  x^2 + y^2 = (lenght)^2;
  y = sin(time);
end Broken;
"""


def test_the_frame_is_that_of_the_command_line(program: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.mo"
    path.write_text(BROKEN)
    shown = subprocess.run([program, "check", str(path)], capture_output=True, text=True).stderr
    with pytest.raises(daelight.ModelError) as raised:
        daelight.load(path)
    error = raised.value
    assert str(error) == shown.strip()
    (diagnostic,) = error.diagnostics
    assert (diagnostic.code, diagnostic.line, diagnostic.column) == ("undeclared-name", 5, 16)
    assert diagnostic.help == "did you mean `length`?"
    assert error.singularity is None
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is daelight.ModelError and other.diagnostics[0].line == 5


def test_conflicting_start_values() -> None:
    text = "model M Real x(start = 1, fixed = true), y(start = 3, fixed = true); equation der(x) = -x; y = x; end M;"
    with pytest.raises(daelight.StartError) as raised:
        daelight.Model.from_source(text).init()
    assert raised.value.document is not None
    assert raised.value.document.status == "conflict"
    assert raised.value.diagnostics[0].code == "inconsistent-initial"


def test_a_singular_start_names_the_singularity() -> None:
    text = "model M Real x(start = 0, fixed = true), y; equation der(x) = 1; x*y = x; end M;"
    with pytest.raises(daelight.SingularityError) as raised:
        daelight.Model.from_source(text).init()
    assert raised.value.singularity is not None
    assert "y" in raised.value.singularity.unknowns


def test_a_singularity_can_be_an_exception() -> None:
    arm = daelight.example("robotic-arm")
    with pytest.raises(daelight.SingularityError) as raised:
        arm.solve(on_singularity="raise")
    found = raised.value.singularity
    assert found is not None
    assert (found.kind, found.nature, found.locus) == ("5-A", "removable", "sin(x3)")
    assert found.time == pytest.approx(1.5446260000352112, abs=1e-9)
    assert arm.solve(on_singularity="stop").status == 1


def test_all_errors_have_one_base() -> None:
    for kind in (daelight.ModelError, daelight.StartError, daelight.SingularityError, daelight.NumericsError):
        assert issubclass(kind, daelight.DaelightError)
