"""Linear models against transfer functions worked out by hand, at random constants."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import daelight

random = np.random.default_rng(7)


def motor(R: float, L: float, k: float, J1: float, J2: float, n: float, d: float) -> daelight.Model:
    return daelight.Model.from_source(
        f"""model Motor "A motor with a gear, index 3"
          input Real u;
          output Real w2(start = 0);
          Real i(start = 0), phi1, phi2(start = 0), w1, tau1, tau2;
        equation
          u = {R}*i + {L}*der(i) + {k}*w1;
          der(phi1) = w1;  der(phi2) = w2;
          {J1}*der(w1) = {k}*i - tau1;  {J2}*der(w2) = tau2 - {d}*w2;
          phi1 = {n}*phi2;  tau2 = {n}*tau1;
        end Motor;"""
    )


@pytest.mark.parametrize("_", range(5))
def test_a_motor_with_a_gear(_: int) -> None:
    R, L, k, J1, J2, n, d = random.uniform(0.3, 3.0, 7)
    found = motor(R, L, k, J1, J2, n, d).linearize()
    s = complex(*random.uniform(0.2, 3.0, 2))
    # Reduced to the motor's shaft.
    J, D = J1 + J2 / n**2, d / n**2
    truth = k / n / ((L * s + R) * (J * s + D) + k * k)
    assert found.transfer(s).shape == (1, 1)
    assert abs(found.transfer(s)[0, 0] / truth - 1) < 1e-12
    poles = np.concatenate([np.roots([L * J, L * D + R * J, R * D + k * k]), [0]])
    np.testing.assert_allclose(np.sort_complex(found.poles), np.sort_complex(poles), rtol=1e-12, atol=1e-12)
    # The place of the shaft is not seen.
    assert found.zeros is not None and abs(found.zeros).max() < 1e-12 and found.zeros.size == 1
    assert found.is_proper and found.improper == [] and found.at_rest
    assert found.descriptor.E.shape == (7, 7) and found.descriptor.B.shape == (7, 1)
    # The written equations have the same transfer function.
    E, A, B = found.descriptor.E, found.descriptor.A, found.descriptor.B
    row = found.descriptor.unknowns.index("w2")
    assert abs(np.linalg.solve(s * E - A, B)[row, 0] / truth - 1) < 1e-10


def test_python_control_takes_it() -> None:
    control = pytest.importorskip("control")
    R, L, k, J1, J2, n, d = random.uniform(0.3, 3.0, 7)
    found = motor(R, L, k, J1, J2, n, d).linearize(outputs=["w2", "i"])
    system = found.to_control()
    assert isinstance(system, control.StateSpace)
    assert system.state_labels == found.states
    assert (system.input_labels, system.output_labels) == (["u"], ["w2", "i"])
    s = 0.3 + 1.7j
    np.testing.assert_allclose(system(s, squeeze=False), found.transfer(s), rtol=1e-12)
    np.testing.assert_allclose(np.sort_complex(system.poles()), np.sort_complex(found.poles), rtol=1e-10, atol=1e-10)
    # Fed back with a gain, the pole of the position is left where it is.
    closed = control.feedback(system[0, 0], 2.0)
    J, D = J1 + J2 / n**2, d / n**2
    poles = np.concatenate([np.roots([L * J, L * D + R * J, R * D + k * k + 2 * k / n]), [0]])
    np.testing.assert_allclose(np.sort_complex(closed.poles()), np.sort_complex(poles), rtol=1e-9, atol=1e-9)


def test_an_improper_model_is_told() -> None:
    pytest.importorskip("control")
    m, d, c = random.uniform(0.3, 3.0, 3)
    servo = daelight.Model.from_source(
        f"model Servo input Real u = sin(time); output Real f; Real x, v; equation x = u; v = der(x); f = {m}*der(v) + {d}*v + {c}*x; end Servo;"
    )
    found = servo.linearize()
    assert not found.is_proper and found.states == [] and found.A.shape == (0, 0)
    np.testing.assert_allclose([part.item() for part in [found.D, *found.improper]], [c, d, m], rtol=1e-12)
    assert any("improper" in text for text in found.warnings)
    s = np.array([1.0 + 2.0j, -0.5j])
    np.testing.assert_allclose(found.transfer(s)[:, 0, 0], m * s**2 + d * s + c, rtol=1e-12)
    with pytest.raises(ValueError, match="derivatives of inputs up to order 2.*Put a filter"):
        found.to_control()
    # What the message says: a filter of that order before the input.
    T = 0.01
    filtered = daelight.Model.from_source(
        f"model Servo input Real r; output Real f; Real u(start = 0), w(start = 0), x, v; equation {T}*der(u) = w - u; {T}*der(w) = r - w; "
        f"x = u; v = der(x); f = {m}*der(v) + {d}*v + {c}*x; end Servo;"
    )
    system = filtered.linearize().to_control()
    np.testing.assert_allclose(system(s), (m * s**2 + d * s + c) / (T * s + 1) ** 2, rtol=1e-11)


def test_gains_without_states() -> None:
    control = pytest.importorskip("control")
    text = "model Gain input Real u[2]; output Real y; equation y = 3*u[1] - 4*u[2]; end Gain;"
    found = daelight.Model.from_source(text).linearize()
    assert found.inputs == ["u[1]", "u[2]"] and found.zeros is None
    np.testing.assert_array_equal(found.D, [[3.0, -4.0]])
    assert isinstance(found.to_control(), control.StateSpace)
    np.testing.assert_array_equal(found.to_control().D, [[3.0, -4.0]])
    one = daelight.Model.from_source(text).linearize(inputs="u[2]", outputs="y")
    assert (one.inputs, one.D.tolist()) == (["u[2]"], [[-4.0]])


def test_a_point_of_a_run() -> None:
    # der(y) = -y^2 from 1 is 1/(1 + t), where its slope is -2/(1 + t).
    text = "model Decay input Real u = 0; output Real y(start = 1, fixed = true); equation der(y) = u - y^2; end Decay;"
    decay = daelight.Model.from_source(text)
    run = decay.solve((0, 3), rtol=1e-12)
    found = decay.linearize(1.5, point=run)
    assert found.time == 1.5 and found.point["y"] == pytest.approx(0.4, rel=1e-11)
    np.testing.assert_allclose(found.A, [[-0.8]], rtol=1e-11)
    assert decay.linearize(point=run).A[0, 0] == pytest.approx(-0.5, rel=1e-11)
    assert any("rest=True goes" in text for text in found.warnings) and "--rest" not in str(found)
    with pytest.raises(ValueError, match="from 0 to 3; it was given 4.0"):
        decay.linearize(4, point=run)
    assert decay.linearize(point={"y": 3.0}).A[0, 0] == pytest.approx(-6.0)


def test_the_pendulum_at_rest() -> None:
    swing = daelight.example("pendulum").with_parameters(L=2.0)
    found = swing.linearize(rest=True, point={"x": 0.1, "y": -1.9})
    assert found.at_rest and found.inputs == []
    np.testing.assert_allclose(np.sort(found.poles.imag), [-np.sqrt(9.81 / 2), np.sqrt(9.81 / 2)], rtol=1e-12)


def test_wrong_names_and_switches_are_told() -> None:
    model = motor(1, 1, 1, 1, 1, 1, 1)
    with pytest.raises(daelight.ModelError, match="the model has no input `v`"):
        model.linearize(inputs=["v"])
    with pytest.raises(daelight.ModelError, match="did you mean w"):
        model.linearize(outputs=["w3"])
    with pytest.raises(ValueError, match="not an unknown"):
        model.linearize(point={"nothing": 1.0})
    kink = daelight.Model.from_source("model Kink Real x(start = 0); equation der(x) = -abs(x); end Kink;")
    with pytest.raises(daelight.ModelError, match="switch"):
        kink.linearize()


def test_it_travels_and_is_shown() -> None:
    found = motor(1, 1, 1, 1, 1, 1, 1).linearize()
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        np.testing.assert_array_equal(other.A, found.A)
        assert str(other) == str(found)
    page = found._repr_html_()
    assert "<summary>A</summary>" in page and "der(" in page and "poles:" in page
    assert repr(found) == "<daelight.Linearization: Motor: a linear model at rest at t = 0 with 3 states and 1 input>"
