"""Numbers are those of the command line, bit for bit, for every built-in model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import daelight

STATUS = {0: None, 1: (daelight.ModelError, daelight.StartError), 3: daelight.SingularityError, 4: daelight.NumericsError}


def short_end(model: daelight.Model) -> float:
    """A small part of the experiment."""
    begin, end, _, _ = model.core.experiment
    begin = begin or 0.0
    return begin + 0.02 * ((end if end is not None else begin + 1.0) - begin)


@pytest.mark.parametrize("name", sorted(daelight.examples()))
def test_solve(name: str, program: str, tmp_path: Path) -> None:
    model = daelight.example(name)
    end = short_end(model)
    out = tmp_path / "run.json"
    asked = subprocess.run(
        [program, "solve", name, "--to", repr(end), "--points", "7", "--out", str(out), "--json"],
        capture_output=True,
        text=True,
    )
    begin = model.core.experiment[0] or 0.0
    if not out.exists():
        expected = STATUS[asked.returncode]
        assert expected is not None, asked.stderr
        with pytest.raises(expected) as raised:
            model.solve((begin, end))
        first = (asked.stderr or json.loads(asked.stdout)["message"]).strip().splitlines()[0]
        assert first.removeprefix("error: ")[:60] in str(raised.value)
        return
    document, table = json.loads(asked.stdout), json.loads(out.read_text())
    columns = table["columns"] if "columns" in table else table
    times = np.array(columns["time"], dtype=float)
    run = model.solve((begin, end), t_eval=times)
    assert run.report["final"].to_dict() == document["final"]
    assert run.report["statistics"].to_dict() == document["statistics"]
    assert run.report["status"] == document["status"]
    assert run.t.tobytes() == times.tobytes()
    for unknown in run.names:
        ours, theirs = run[unknown], np.array(columns[unknown], dtype=float)
        assert np.array_equal(ours, theirs, equal_nan=True), unknown


def test_documents(program: str) -> None:
    def asked(*words: str) -> dict[str, object]:
        answer = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
        found: dict[str, object] = json.loads(answer.stdout)
        return found

    arm = daelight.example("robotic-arm")
    assert arm.analyze().to_dict() == asked("analyze", "robotic-arm")
    assert arm.init().to_dict() == asked("init", "robotic-arm")
    assert arm.check().to_dict() == asked("check", "robotic-arm")
    assert daelight.example("four-bar").singular(parameters="all").to_dict() == asked(
        "singular", "four-bar", "--parameters", "all"
    )
    assert arm.solve().report.to_dict() == asked("solve", "robotic-arm")
