"""Models, their parameters, and what can be asked about them."""

from __future__ import annotations

import math
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import daelight

DECAY = """model Decay "one mode"
  parameter Real k = 2;
  parameter Real a[2] = {1, 2};
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x;
end Decay;
"""


@pytest.fixture(scope="module")
def decay() -> daelight.Model:
    return daelight.Model.from_source(DECAY)


def test_parameters(decay: daelight.Model) -> None:
    assert dict(decay.parameters) == {"k": 2.0, "a[1]": 1.0, "a[2]": 2.0}
    other = decay.with_parameters({"a[2]": 0.5}, k=3)
    assert dict(other.parameters) == {"k": 3.0, "a[1]": 1.0, "a[2]": 0.5}
    assert other.with_parameters(k=np.float64(1e-7)).parameters["k"] == 1e-7
    assert other.with_parameters(a=[7, 8.5]).parameters["a[2]"] == 8.5
    assert decay.parameters["k"] == 2.0
    with pytest.raises(daelight.ModelError) as raised:
        decay.with_parameters(kk=1)
    assert raised.value.diagnostics[0].code == "unknown-parameter"


def test_a_run_has_scipys_names(decay: daelight.Model) -> None:
    run = decay.solve((0.0, 1.0), t_eval=np.linspace(0, 1, 5), rtol=1e-10)
    assert run.success and run.status == 0 and run.t_events is None
    assert run.y.shape == run.yp.shape == (1, 5)
    np.testing.assert_allclose(run["x"], np.exp(-2 * run.t), rtol=1e-9)
    np.testing.assert_allclose(run.yp[0], -2 * run.y[0], rtol=1e-9)
    assert run.sol is not None
    np.testing.assert_allclose(run.sol(0.5), np.exp(-1.0), rtol=1e-9)
    np.testing.assert_allclose(run.sol.derivative([0.5]), [[-2 * np.exp(-1.0)]], rtol=1e-9)
    assert np.isnan(run.sol(2.0)).all()
    assert run.nfev > 0 and run.nlu >= 0 and run.njev >= 0
    assert decay.solve((0, 1), dense_output=False).sol is None
    assert list(run.to_dict()) == ["time", "x"]
    with pytest.raises(KeyError):
        run["z"]


def test_a_stopping_condition_is_an_event(decay: daelight.Model) -> None:
    run = decay.solve((0, 10), stop_when="x < 0.5")
    assert run.status == 1 and run.success
    assert run.t_events is not None
    assert run.t_events[0][0] == pytest.approx(np.log(2) / 2, abs=1e-9)


def test_start_values_can_be_given() -> None:
    start = {"x": 0.6, "y": -0.8}
    run = daelight.example("pendulum").solve((0, 0.1), point=start)
    assert run["x"][0] == pytest.approx(0.6, abs=1e-12)
    with pytest.raises(ValueError, match="not an unknown"):
        daelight.example("pendulum").solve((0, 0.1), point={"z": 1.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rtol": 2.0}, "not a tolerance"),
        ({"method": "euler"}, "it was given .euler"),
        ({"on_singularity": "jump"}, "on_singularity"),
        ({"t_eval": [[0.0]]}, "t_eval"),
        ({"t_span": (0.0, float("inf"))}, "two times"),
        ({"budget": -1.0}, "budget"),
        ({"budget": 1e18}, "budget"),
    ],
)
def test_wrong_usage_is_a_value_error(
    decay: daelight.Model, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decay.solve(**arguments)  # type: ignore[arg-type]


def test_models_travel_as_text(decay: daelight.Model) -> None:
    other = pickle.loads(pickle.dumps(decay.with_parameters(k=5)))
    assert other.parameters["k"] == 5.0
    assert other.solve((0, 1)).y.tobytes() == decay.with_parameters(k=5).solve((0, 1)).y.tobytes()
    passport = decay.analyze()
    assert pickle.loads(pickle.dumps(passport)).to_dict() == passport.to_dict()


def test_singular_counts_on_curves_when_asked() -> None:
    four_bar = daelight.example("four-bar")
    assert not four_bar.singular(parameters=["l[1]"]).curve_counts
    found = four_bar.singular(parameters=["l[1]"], curves=True)
    counts = [(one["dimension"], one["count"], one["sample"]["l[1]"]) for one in found.curve_counts]
    assert counts == [(0, 1, 0.35)]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "decay.mo"
    path.write_text(DECAY)
    assert daelight.load(path).name == "Decay"
    with pytest.raises(daelight.ModelError) as raised:
        daelight.load(tmp_path / "decai.mo")
    assert "decay.mo" in str(raised.value.diagnostics[0].help)
    assert "pendulum" in daelight.examples()
    with pytest.raises(daelight.ModelError):
        daelight.example("pendulun")


def test_reduce_gives_a_model_of_low_index() -> None:
    reduced = daelight.example("pendulum").reduce()
    assert reduced.analyze().differentiation.index <= 1


def test_a_page_of_everything(decay: daelight.Model, tmp_path: Path) -> None:
    decay.report(tmp_path / "decay.html", to=1.0)
    page = (tmp_path / "decay.html").read_text()
    assert "Decay" in page and page.rstrip().endswith("</html>")


def test_threads_run_at_the_same_time(decay: daelight.Model) -> None:
    """The interpreter is free while a run goes on."""
    pendulum = daelight.example("pendulum")
    done = threading.Event()

    def work() -> None:
        pendulum.solve((0, 400))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    turns = 0
    while not done.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_ends_a_run() -> None:
    code = "import daelight; print('go', flush=True); daelight.example('pendulum').solve((0, 1e7), max_steps=10**9)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors


def test_import_is_quick() -> None:
    """Below 0.3 s, numpy included, at best of three on a busy machine; heavy packages are left alone."""
    code = "import sys, time; begin = time.process_time(); import daelight; print(time.process_time() - begin, 'sympy' in sys.modules or 'pandas' in sys.modules)"
    answers = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
        for _ in range(3)
    ]
    assert min(float(seconds) for seconds, _ in answers) < 0.3, answers
    assert all(heavy == "False" for _, heavy in answers)


def test_a_gradient_is_that_of_the_closed_form() -> None:
    text = (
        "model Decay parameter Real k = 2, a = 3; Real x(start = a, fixed = true), y;"
        " equation der(x) = -k*x; y = x^2; end Decay;"
    )
    model = daelight.Model.from_source(text)
    x = 3 * math.exp(-2.0)
    last = model.gradient("x + y", ["k", "a", "x"], (0, 1), rtol=1e-11)
    assert last.value == pytest.approx(x + x * x, rel=1e-9)
    slope = 1 + 2 * x
    assert last.array == pytest.approx([-x * slope, x / 3 * slope, x / 3 * slope], rel=1e-9)
    area = model.gradient("integral(x)", t_span=(0, 1), rtol=1e-11)
    assert area.value == pytest.approx(1.5 * (1 - math.exp(-2.0)), rel=1e-9)
    assert area.gradient["a"] == pytest.approx(area.value / 3, rel=1e-9)
    times = np.array([0.25, 0.5, 1.0])
    fit = model.gradient({"t": times, "x": np.array([1.0, np.nan, 0.5])}, ["k"], rtol=1e-11)
    values = 3 * np.exp(-2 * times)
    apart = np.array([values[0] - 1.0, 0.0, values[2] - 0.5])
    assert fit.value == pytest.approx(float(apart @ apart), rel=1e-9)
    assert fit.gradient["k"] == pytest.approx(float(2 * apart @ (-times * values)), rel=1e-8)
    assert model.gradient("x", ["k"], (0, 1), args={"k": 1.0}).gradient["k"] == pytest.approx(-3 * math.exp(-1.0), rel=1e-6)
    with pytest.raises(ValueError, match="has no times"):
        model.gradient({"x": [1.0]})
    with pytest.raises(daelight.ModelError, match="no parameter"):
        model.gradient("x", ["speed"])


def test_units_that_do_not_match_are_told() -> None:
    text = 'model Wheel parameter Real f(unit = "Hz") = 50; Real phi(unit = "rad", start = 0, fixed = true); equation der(phi) = {}; end Wheel;'
    wheel = daelight.Model.from_source(text.format("f"))
    (warning,) = wheel.solve().report.warnings
    assert "left rad/s, right Hz" in warning and "`check()`" in str(wheel.solve())
    assert [found["code"] for found in wheel.check().diagnostics] == ["unit-mismatch"]
    assert daelight.Model.from_source(text.format("6.283185307179586*f")).solve().report.warnings == []


def test_classes_of_libraries_are_examples() -> None:
    gears = daelight.example("Parts.Rotational.Examples.GearTrain")
    # 6 N.m turn 0.5 kg.m2, and 8 kg.m2 behind a ratio of 4.
    assert gears.solve((0, 1))["fast.w"][-1] == pytest.approx(6.0, rel=1e-8)
    with pytest.raises(daelight.ModelError, match="did you mean `Parts.Electrical.Examples.LowPass`"):
        daelight.example("Parts.Electrical.Examples.Lowpass")
    with pytest.raises(ValueError, match="takes classes of libraries"):
        daelight.load("Parts.Rotational.Examples.GearTrain")
