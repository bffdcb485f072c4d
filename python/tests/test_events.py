"""Models with events: both sides, discrete variables, modes, refusals; values against closed forms."""

from __future__ import annotations

import math
import pickle
import random
import re
from pathlib import Path

import numpy as np
import pytest

import daelight

BALL = """model Ball
  parameter Real g = 9.81, e = 0.7;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
  annotation(experiment(StopTime = 1.5), __daelight(draw = {{{0, 0}, {0, h}}}));
end Ball;
"""

DIODE = """model Diode "An ideal diode that charges a capacitor through nothing"
  Real u, i, s, v(start = 0, fixed = true);
  Boolean off(start = true);
equation
  off = s < 0;
  u = if off then s else 0;
  i = if off then 0 else s;
  u + v = sin(time);
  der(v) = i - 0.2*v;
  annotation(experiment(StopTime = 3));
end Diode;
"""


def bounces(h: float, g: float, e: float, end: float) -> list[float]:
    """Times of the impacts of a ball."""
    time, fall = math.sqrt(2 * h / g), math.sqrt(2 * h / g)
    found = []
    while time < end:
        found.append(time)
        fall *= e
        time += 2 * fall
    return found


@pytest.mark.parametrize("seed", range(12))
def test_bouncing_balls(seed: int) -> None:
    draw = random.Random(seed)
    g, e, end = draw.uniform(1, 20), draw.uniform(0.3, 0.9), draw.uniform(0.8, 1.2)
    ball = daelight.Model.from_source(BALL).with_parameters(g=g, e=e)
    end *= math.sqrt(2 / g) * (1 + 2 * e + e * e)
    method = draw.choice(["auto", "taylor", "radau", "bdf"])
    run = ball.solve((0, end), method=method, rtol=1e-9)  # type: ignore[arg-type]
    true = bounces(1, g, e, end)
    assert run.success and [event.condition for event in run.events] == ["h < 0"] * len(true)
    np.testing.assert_allclose([event.time for event in run.events], true, atol=1e-7)
    assert run["n"][-1] == len(true)
    for k, event in enumerate(run.events):
        fall = math.sqrt(2 * g) * e**k
        np.testing.assert_allclose(event.changed["v"], [-fall, e * fall], rtol=1e-7)
        assert event.changed["n"] == [k, k + 1] and event.line == 8
    # Both sides of each event, and nothing else twice.
    twice = run.t[1:][np.diff(run.t) == 0]
    np.testing.assert_array_equal(twice, [event.time for event in run.events])
    assert (np.diff(run["n"]) == (np.diff(run.t) == 0)).all()


def test_values_between_and_at_events() -> None:
    ball = daelight.Model.from_source(BALL)
    run = ball.solve()
    first = run.events[0].time
    assert run.names == ["h", "v", "n"] and run.sol is not None
    behind = run.sol(first)
    assert behind[1] == pytest.approx(0.7 * math.sqrt(2 * 9.81)) and behind[2] == 1
    before = run.sol(first - 1e-9)
    assert before[1] == pytest.approx(-math.sqrt(2 * 9.81)) and before[2] == 0
    np.testing.assert_allclose(run.sol.derivative([0.1, 0.6])[1], -9.81)
    assert run.sol.derivative(0.1)[2] == 0 and np.isnan(run.sol(99.0)).all()
    chosen = ball.solve(t_eval=[0.1, 0.6])
    np.testing.assert_allclose(chosen.t, [0.1, 0.6])
    np.testing.assert_array_equal(chosen["n"], [0, 1])
    assert chosen["h"][0] == pytest.approx(1 - 0.5 * 9.81 * 0.01)
    assert list(run.to_dataframe().columns) == ["time", "h", "v", "n"]
    assert pickle.loads(pickle.dumps(ball)).solve().events == run.events


def test_a_picture_draws_steps_as_steps() -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    run = daelight.Model.from_source(BALL).solve()
    run.plot("n", ax=ax)
    times, values = ax.lines[0].get_data()
    assert set(np.unique(values)) == {0.0, 1.0, 2.0}
    steps = np.diff(values) != 0
    assert steps.sum() == 2 and (np.diff(times)[steps] == 0).all()
    plt.close(figure)
    assert run.plot().svg.startswith("<svg") and "last values" in run._repr_html_()
    assert run.animate().svg.count("<animate") == 1


def test_accumulating_events() -> None:
    ball = daelight.Model.from_source(BALL)
    limit = math.sqrt(2 / 9.81) * 1.7 / 0.3
    stopped = ball.solve((0, 3))
    assert stopped.report.reason == "zeno" and stopped.report.time == pytest.approx(limit, abs=1e-7)
    assert 'on_zeno="rest"' in stopped.message
    rests = ball.solve((0, 3), on_zeno="rest")
    assert rests.t[-1] == 3 and rests["h"][-1] == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="on_zeno"):
        ball.solve(on_zeno="go on")  # type: ignore[arg-type]


def test_modes() -> None:
    diode = daelight.Model.from_source(DIODE)
    run = diode.solve()
    # It conducts while its current cos t + 0.2 sin t is positive, with v = sin t, and blocks from there on.
    opens = math.pi - math.atan(5)
    assert [mode.conditions for mode in run.modes][-1] == ["off"]
    assert run.modes[-1]["from"] == pytest.approx(opens, abs=1e-8)
    assert [(mode.index, mode.dof) for mode in run.modes[-2:]] == [(2, 0), (1, 1)]
    v = math.sin(opens) * math.exp(-0.2 * (3 - opens))
    assert run["v"][-1] == pytest.approx(v, abs=1e-7) and run["off"][-1] == 1
    assert "The model has events" in str(diode.analyze().warnings)
    assert diode.init().discrete[0].name == "off"


def test_conditions_that_end_a_run_and_signals() -> None:
    ball = daelight.Model.from_source(BALL)
    ended = ball.solve(events="n >= 2")
    assert ended.status == 1 and ended.t[-1] == pytest.approx(bounces(1, 9.81, 0.7, 2)[1], abs=1e-8)
    fall = ball.solve(events=lambda t, y: float(y[1] - 1))
    assert fall.t_events is not None
    # v = 0.7 sqrt(2 g) - g t from the first impact on.
    down = bounces(1, 9.81, 0.7, 2)[0] + (0.7 * math.sqrt(2 * 9.81) - 1) / 9.81
    assert fall.t_events[0][1] == pytest.approx(down, abs=1e-8)
    text = "model Follow input Real u; Real x(start = 0, fixed = true); discrete Real top(start = 0); "
    text += "equation der(x) = u; when x > 1 then top = time; end when; end Follow;"
    driven = daelight.Model.from_source(text).solve((0, 2), inputs={"u": lambda t: 2.0 * t})
    assert driven["top"][-1] == pytest.approx(1.0, abs=1e-8)


def test_what_goes_wrong_is_said() -> None:
    loop = "model Loop Real x; Boolean a; equation a = not pre(a); der(x) = if a then 1 else 0; end Loop;"
    run = daelight.Model.from_source(loop).solve((0, 1))
    assert not run.success and run.report.reason == "event-loop" and "`a`" in run.message
    text = BALL.replace("n = pre(n) + 1;", "n = pre(n) + 1; assert(n < 2, \"too often\");")
    failed = daelight.Model.from_source(text).solve()
    assert failed.status == -1 and "too often" in failed.message
    assert failed.t[-1] == pytest.approx(bounces(1, 9.81, 0.7, 2)[1], abs=1e-8)


def test_a_page_shows_the_events(tmp_path: Path) -> None:
    path = tmp_path / "ball.html"
    daelight.Model.from_source(BALL).report(path)
    page = path.read_text()
    assert "Events and modes" in page and "h &lt; 0" in page and "Moving drawing of Ball" in page
    data = re.findall(r'"names":\["n"\].*?"times":(\[.*?\]),"values":\[(\[.*?\])\]', page)
    assert len(data) == 1
    times, values = (np.array(eval(text)) for text in data[0])
    steps = np.diff(values) != 0
    assert steps.sum() == 2 and (np.diff(times)[steps] == 0).all()
