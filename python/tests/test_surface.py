"""Arrays, tables, events, inputs and drawings of runs."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import daelight

matplotlib.use("svg")


@pytest.fixture(scope="module")
def robot() -> daelight.Result:
    return daelight.example("delta-robot").solve(t_eval=[0.0, 0.1, 0.2])


def test_arrays_come_as_a_whole(robot: daelight.Result) -> None:
    assert robot["p"].shape == (3, 3)
    np.testing.assert_array_equal(robot["p"][2], robot["p[3]"])
    with pytest.raises(KeyError, match="there are p\\[1\\]"):
        robot["q"]


def test_tables_for_others(robot: daelight.Result) -> None:
    data = robot.to_xarray()
    assert data["alpha"].dims == ("alpha_1", "time") and data.attrs["model"] == "DeltaRobot"
    np.testing.assert_array_equal(data["p"].values, robot["p"])
    assert list(robot.to_dataframe().columns)[:3] == ["time", "p[1]", "p[2]"]


def test_curves_on_axes_of_matplotlib(robot: daelight.Result) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert robot.plot("p", ax=ax) is ax
    assert [line.get_label() for line in ax.lines] == ["p[1]", "p[2]", "p[3]"]
    plt.close(figure)


def test_drawings(robot: daelight.Result) -> None:
    lines = robot.draw(instants=1).svg.count("<polyline")
    assert lines >= 3 and robot.draw(instants=4).svg.count("<polyline") == 4 * lines
    assert robot.animate().svg.count("<animate") == lines
    with pytest.raises(ValueError, match="has no drawing"):
        daelight.example("cstr").solve().animate()


def test_events_are_scipys() -> None:
    swing = daelight.example("pendulum")

    def lowest(t: float, y: daelight.results.Floats) -> float:
        return float(y[0])

    run = swing.solve((0, 2), events=[lowest])
    assert run.status == 0 and run.t_events is not None and run.y_events is not None
    # The quarter of a period from the horizontal: K(1/2)/sqrt(g).
    assert run.t_events[0][0] == pytest.approx(1.8540746773013719 / np.sqrt(9.81), abs=1e-9)
    np.testing.assert_allclose(run.y_events[0][:, 1], -1.0, atol=1e-9)
    lowest.terminal = True  # type: ignore[attr-defined]
    ended = swing.solve((0, 2), events=lowest)
    assert ended.status == 1 and ended.t[-1] == pytest.approx(run.t_events[0][0], abs=1e-12)
    stopped = swing.solve((0, 2), events="x < 0")
    assert stopped.status == 1 and stopped.t[-1] == pytest.approx(ended.t[-1], abs=1e-9)


def test_parameters_start_values_and_inputs_of_a_run() -> None:
    swing = daelight.example("pendulum")
    assert swing.solve((0, 0.1), args={"L": 2.0})["x"][0] == pytest.approx(2.0)
    by_list = swing.solve((0, 0.1), y0=[0.6, -0.8, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="takes 5 values"):
        swing.solve((0, 0.1), y0=[1.0])
    assert by_list.success
    arm = daelight.example("e1-forward")
    times = np.linspace(0, 0.1, 201)
    by_function = arm.solve((0, 0.1), inputs={"u": lambda t: 1e3 * np.sin(30 * t)}, t_eval=[0.1])
    by_values = arm.solve((0, 0.1), inputs={"u": (times, 1e3 * np.sin(30 * times))}, t_eval=[0.1])
    np.testing.assert_allclose(by_function.y, by_values.y, rtol=1e-7)
    with pytest.raises(daelight.ModelError):
        arm.solve((0, 0.1), inputs={"w": lambda t: 0.0})


def test_feedforward_finds_torques_that_work() -> None:
    found = daelight.example("e1").feedforward(daelight.example("e1-forward"))
    assert found.success and found.error < 1e-6
    assert found["u"].shape == found.t.shape
    assert found.report.forward is not None and found.report.forward.status == "success"


def test_words_are_explained() -> None:
    assert "derivative array" in daelight.explain("1-full")
    assert daelight.explain("5-A").startswith("kind")
    with pytest.raises(KeyError):
        daelight.explain("gravel")
