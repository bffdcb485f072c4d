"""FMUs of daelight in FMPy: valid, and the same numbers as `daelight solve`."""

import atexit
import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from fmpy import extract, instantiate_fmu, read_model_description, simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu

PROGRAM = sys.argv[1]
FOLDER = Path(tempfile.mkdtemp(prefix="fmu"))
# What FMPy unpacks goes there too, and away with it: each FMU holds an engine.
tempfile.tempdir = str(FOLDER)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

BALL = """model Ball "A ball that bounces"
  parameter Real e = 0.8, g = 9.81;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
  output Real y;
equation
  der(h) = v;
  der(v) = -g;
  y = 2*h;
  when h < 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
  annotation(experiment(StopTime = 2));
end Ball;
"""

TANK = """model Tank "A first-order lag with an input, and a constraint between two levels"
  input Real u "inflow";
  parameter Real T(unit = "s") = 0.5;
  Real x(start = 1, fixed = true, unit = "m"), q;
  output Real y(unit = "m");
equation
  T*der(x) = q - x;
  q = 2*u;
  y = x + u;
end Tank;
"""

VALVE = """model Valve "A tank whose valve opens above a level"
  input Real u "inflow";
  parameter Real T = 0.5, top = 1;
  output Real x(start = 0, fixed = true);
  Boolean open(start = false, fixed = true);
  Integer n(start = 0, fixed = true);
  Real leak;
equation
  leak = if open then 3 else 0;
  T*der(x) = u - x - leak;
  when x > top then
    open = true;
    n = pre(n) + 1;
  elsewhen u < 0 then
    open = false;
    n = pre(n) + 10;
  end when;
  annotation(experiment(StopTime = 3));
end Valve;
"""

RELAY = """model Relay "A double integrator that a relay drives"
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), u;
  Integer n(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = u;
  u = if x > 0 then -1 else 1;
  when x > 0 then
    n = pre(n) + 1;
  end when;
end Relay;
"""

THERMOSTAT = """model Thermostat "A room with a heater that is on or off"
  parameter Real low = 19, high = 21, outside = 5, power = 30, tau = 4;
  output Real T(start = 15, fixed = true);
  Boolean on(start = true, fixed = true);
  Real q, E(start = 0, fixed = true);
equation
  tau*der(T) = outside - T + q;
  q = if on then power else 0;
  der(E) = q;
  when T > high then
    on = false;
  elsewhen T < low then
    on = true;
  end when;
end Thermostat;
"""

SAMPLED = """model Sampled "A mass with a controller that looks at it now and then"
  parameter Real period = 0.13, kp = 2, ki = 1.5;
  input Real r = 1;
  output Real x(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true), I(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = u - 1.4*v - x;
  when sample(0, period) then
    I = pre(I) + period*ki*(r - x);
    u = kp*(r - x) + I;
  end when;
end Sampled;
"""

STAIRS = """model Stairs "A motor that stops between whole numbers and turns back"
  Real x(start = 0.2, fixed = true), y(start = 0, fixed = true);
  Integer n;
equation
  der(x) = 3*cos(time);
  n = integer(x);
  der(y) = n;
end Stairs;
"""

PEG = """model Peg "A pendulum in coordinates that a peg throws back, index 3"
  parameter Real L = 1, g = 9.81, e = 0.9;
  Real x(start = 0.8), y(start = -0.6), vx(start = 0, fixed = true), vy, F;
  Integer n(start = 0, fixed = true);
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -F*x;
  der(vy) = -F*y - g;
  x^2 + y^2 = L^2;
  when x < -0.3 then
    reinit(vx, -e*vx);
    n = pre(n) + 1;
  end when;
end Peg;
"""

CLUTCH = """model Clutch "Two inertias that a clutch joins for a second: two states, then one, then two"
  Real w1(start = 10, fixed = true), w2(start = 0, fixed = true), tau;
  Boolean locked(start = false, fixed = true);
equation
  1*der(w1) = 2 - 0.1*w1 - tau;
  3*der(w2) = tau - 0.2*w2;
  0 = if locked then w1 - w2 else tau;
  when time > 1 then
    locked = true;
  elsewhen time > 2 then
    locked = false;
  end when;
end Clutch;
"""

SERVO = """model Servo "The force that makes a mass follow a motion"
  input Real u = sin(time);
  output Real f;
  Real x, v;
equation
  x = u;
  v = der(x);
  f = 2.5*der(v) + 3*v + 7*x;
  annotation(experiment(StopTime = 2));
end Servo;
"""


def daelight(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"daelight {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def model(name, text):
    path = FOLDER / name
    path.write_text(text)
    return str(path)


def exported(source, version, *more):
    """The FMU of a model, which has to be valid."""
    name = Path(source).stem if source.endswith(".mo") else source
    path = FOLDER / f"{name}-{version}.fmu"
    if path.exists():
        return str(path)
    daelight("-q", "fmu", source, "--fmi", str(version), "--out", str(path), *more)
    problems = validate_fmu(str(path))
    assert not problems, (source, version, problems)
    return str(path)


def unknowns(path):
    description = read_model_description(path)
    shown = [v for v in description.modelVariables if v.causality in ("local", "output")]
    return [v.name for v in shown if v.variability != "constant"]


def close(source, found, expected, within):
    """Numbers relative to their sizes, small ones absolutely."""
    for name, value in expected.items():
        if value is None or name not in found:
            continue
        error = abs(found[name] - value) / max(1.0, abs(value))
        assert error <= within, (source, name, found[name], value, error)


def same_end(source, version, to, *more):
    """The end of a co-simulation is that of `solve`, to ten tolerances."""
    path = exported(source, version, *more)
    solved = json.loads(daelight("solve", source, "--json", "--to", str(to), *more))
    # Singular ends are compared elsewhere.
    assert solved["status"] == "success", (source, solved["message"])
    rtol = 1e-8
    run = simulate_fmu(
        path, fmi_type="CoSimulation", stop_time=to, relative_tolerance=rtol, output=unknowns(path)
    )
    last = {name: float(run[name][-1]) for name in run.dtype.names}
    solved = json.loads(daelight("solve", source, "--json", "--to", str(to), "--rtol", str(rtol), *more))
    close(source, last, solved["final"], 10 * rtol)
    print(f"  {Path(source).name}, FMI {version}: end at t = {to} as solved")


def same_end_by_others(source, version, to, *more, tolerance=1e-9, within=1e-6):
    """Model exchange with FMPy's CVode, at a tolerance of its own, ends where `solve` does."""
    path = exported(source, version, *more)
    run = simulate_fmu(
        path, fmi_type="ModelExchange", stop_time=to, relative_tolerance=tolerance, output=unknowns(path),
        output_interval=to / 20,
    )
    last = {name: float(run[name][-1]) for name in run.dtype.names}
    solved = json.loads(daelight("solve", source, "--json", "--to", str(to), "--rtol", "1e-10", *more))
    close(source, last, solved["final"], within)
    print(f"  {Path(source).name}, FMI {version}: model exchange ends at t = {to} as solved")


def events_of_others_repeat(version):
    """In model exchange, with Euler's method: a state that is kept between two events goes on bit for bit."""
    slave, description = opened(exported(model("ball.mo", BALL), version), kind="ModelExchange")
    slave_start(slave, version, 0.0)
    n = len(description.derivatives)
    room, rates, signs = (ctypes.c_double * n)(), (ctypes.c_double * n)(), (ctypes.c_double * 1)()
    rates_of = slave.getDerivatives if version == 2 else slave.getContinuousStateDerivatives
    update = slave.newDiscreteStates if version == 2 else slave.updateDiscreteStates
    update()
    slave.enterContinuousTimeMode()

    def run(first):
        values, before = [], None
        for k in range(first, first + 60):
            slave.setTime(0.01 * k)
            slave.getEventIndicators(signs, 1)
            if before is not None and before * signs[0] < 0:
                slave.enterEventMode()
                update()
                slave.enterContinuousTimeMode()
                slave.getEventIndicators(signs, 1)
            before = signs[0]
            slave.getContinuousStates(room, n)
            rates_of(rates, n)
            put_states(slave, np.array(room) + 0.01 * np.array(rates))
            values.append(tuple(room) + (before,))
        return values

    run(0)
    state = slave.getFMUstate() if version == 2 else slave.getFMUState()
    kept = (slave.serializeFMUstate if version == 2 else slave.serializeFMUState)(state)
    first = run(60)
    assert len({value[1] > 0 for value in first}) == 2, "no bounce"
    back = slave.setFMUstate if version == 2 else slave.setFMUState
    back(state)
    assert run(60) == first, "kept"
    back((slave.deSerializeFMUstate if version == 2 else slave.deserializeFMUState)(kept))
    assert run(60) == first, "written and read"
    slave.freeInstance()
    print(f"  ball, FMI {version}: states of model exchange go on bit for bit through events")


def rates_are_those_of_the_run(version):
    """Rates of the pendulum at a state that is given, against the closed form."""
    path = exported("pendulum", version)
    description = read_model_description(path)
    master = instantiate_fmu(extract(path), description, "ModelExchange")
    slave_start(master, version, 0.0)
    rates = [unknown.variable for unknown in description.derivatives]
    states = [v.derivative.name for v in rates]
    assert sorted(states) == ["vx", "vy", "x", "y"], states
    angle, speed = 0.7, 1.3
    at = {
        "x": np.sin(angle), "y": -np.cos(angle),
        "vx": speed * np.cos(angle), "vy": speed * np.sin(angle),
    }
    master.enterContinuousTimeMode()
    master.setTime(0.5)
    n = len(states)
    values = (np.ctypeslib.ctypes.c_double * n)(*[at[name] for name in states])
    found = (np.ctypeslib.ctypes.c_double * n)()
    if version == 2:
        master.setContinuousStates(values, n)
        master.getDerivatives(found, n)
    else:
        master.setContinuousStates(values, n)
        master.getContinuousStateDerivatives(found, n)
    gravity = 9.81
    turn = -gravity * np.sin(angle)
    exact = {
        "x": at["vx"], "y": at["vy"],
        "vx": turn * np.cos(angle) - speed**2 * np.sin(angle),
        "vy": turn * np.sin(angle) + speed**2 * np.cos(angle),
    }
    for name, value in zip(states, found):
        assert abs(value - exact[name]) < 1e-12, (name, value, exact[name])
    master.freeInstance()
    print(f"  pendulum, FMI {version}: rates as by hand")


def the_arm_ends_where_it_is_folded(version):
    path = exported("robotic-arm", version)
    said = []
    slave, description = opened(path, said)
    slave_start(slave, version, 0.0)
    names = {v.name: v.valueReference for v in description.modelVariables}
    time, reached = 0.0, None
    while reached is None:
        assert time < 3, "the arm has to end"
        try:
            step(slave, version, time, 0.01)
            time += 0.01
        except FMICallException as exception:
            assert exception.status == 2, exception
            reached = True
    solved = json.loads(daelight("solve", "robotic-arm", "--json"))
    x = get(slave, version, [names[f"x{k}"] for k in range(1, 9)])
    close("robotic-arm", {f"x{k + 1}": x[k] for k in range(8)}, solved["final"], 1e-7)
    assert abs(get(slave, version, [0])[0] - 1.5446260000352117) < 1e-7
    assert any("sin(x3) = 0" in text for text in said), said
    slave.freeInstance()
    print(f"  robotic-arm, FMI {version}: ends at t = 1.5446, and says why")


def opened(path, said=None, kind="CoSimulation"):
    description = read_model_description(path)
    folder = extract(path)

    def tell(message):
        (said if said is not None else []).append(message)

    def log2(_environment, _name, _status, _category, message):
        tell(message.decode())

    def log3(_environment, _status, _category, message):
        tell(message.decode())

    logger = log2 if description.fmiVersion == "2.0" else log3
    slave = instantiate_fmu(folder, description, kind, logger=logger)
    slave.kept = logger
    return slave, description


def slave_start(slave, version, time, tolerance=1e-8):
    if version == 2:
        slave.setupExperiment(startTime=time, tolerance=tolerance)
        slave.enterInitializationMode()
    else:
        slave.enterInitializationMode(startTime=time, tolerance=tolerance)
    slave.exitInitializationMode()


def step(slave, version, time, size):
    slave.doStep(currentCommunicationPoint=time, communicationStepSize=size)


def get(slave, version, references):
    return slave.getReal(references) if version == 2 else slave.getFloat64(references)


def put(slave, version, references, values):
    (slave.setReal if version == 2 else slave.setFloat64)(references, values)


def states_repeat(source, version, to, *more, inputs=False):
    """A state that is kept, or written and read, goes on bit for bit."""
    path = exported(source, version, *more)
    slave, description = opened(path)
    names = {v.name: v.valueReference for v in description.modelVariables}
    real = {v.name for v in description.modelVariables if v.type in ("Real", "Float64")}
    watched = [names[name] for name in unknowns(path) if name in real]
    slave_start(slave, version, 0.0)

    def run(first):
        values = []
        for k in range(first, first + 5):
            if inputs:
                put(slave, version, [names["u"]], [np.sin(0.3 * k)])
            step(slave, version, 0.1 * k * to, 0.1 * to)
            values.append(tuple(get(slave, version, watched)))
        return values

    run(0)
    state = slave.getFMUstate() if version == 2 else slave.getFMUState()
    bytes_of = slave.serializeFMUstate if version == 2 else slave.serializeFMUState
    kept = bytes_of(state)
    first = run(5)
    (slave.setFMUstate if version == 2 else slave.setFMUState)(state)
    assert run(5) == first, (source, "kept")
    from_bytes = slave.deSerializeFMUstate if version == 2 else slave.deserializeFMUState
    again = from_bytes(kept)
    (slave.setFMUstate if version == 2 else slave.setFMUState)(again)
    assert run(5) == first, (source, "written and read")
    try:
        from_bytes(kept[:-1])
        raise AssertionError("a state cut short was read")
    except FMICallException:
        pass
    slave.freeInstance()
    print(f"  {Path(source).stem}, FMI {version}: states go on bit for bit")


def states_of_others_repeat(source, version, to, *more):
    """In model exchange, with Euler's method: a state that is kept, or written and read, goes on bit for bit."""
    path = exported(source, version, *more)
    slave, description = opened(path, kind="ModelExchange")
    slave_start(slave, version, 0.0)
    n = len(description.derivatives)
    room, rates = (ctypes.c_double * n)(), (ctypes.c_double * n)()
    rates_of = slave.getDerivatives if version == 2 else slave.getContinuousStateDerivatives
    names = {v.name: v.valueReference for v in description.modelVariables}
    real = {v.name for v in description.modelVariables if v.type in ("Real", "Float64")}
    watched = [names[name] for name in unknowns(path) if name in real]
    size = 1e-5 * to

    def run(first):
        values = []
        for k in range(first, first + 20):
            slave.setTime(size * k)
            slave.getContinuousStates(room, n)
            rates_of(rates, n)
            put_states(slave, np.array(room) + size * np.array(rates))
            values.append(tuple(rates) + tuple(get(slave, version, watched)))
        return values

    run(0)
    state = slave.getFMUstate() if version == 2 else slave.getFMUState()
    kept = (slave.serializeFMUstate if version == 2 else slave.serializeFMUState)(state)
    first = run(20)
    back = slave.setFMUstate if version == 2 else slave.setFMUState
    back(state)
    assert run(20) == first, "kept"
    back((slave.deSerializeFMUstate if version == 2 else slave.deserializeFMUState)(kept))
    assert run(20) == first, "written and read"
    slave.freeInstance()
    print(f"  {Path(source).stem}, FMI {version}: states of model exchange go on bit for bit")


def messages_are_chosen(version):
    """Categories of messages."""
    said = []
    slave, _ = opened(exported(model("tank.mo", TANK), version), said)
    slave_start(slave, version, 0.0)

    def fails():
        try:
            get(slave, version, [12345])
        except FMICallException:
            pass
        return len(said)

    def choose(on, names):
        list_of = (ctypes.c_char_p * len(names))(*[name.encode() for name in names])
        function = slave.fmi2SetDebugLogging if version == 2 else slave.fmi3SetDebugLogging
        return function(slave.component, on, len(names), list_of)

    assert fails() == 1
    choose(True, ["logStatusWarning"])
    assert fails() == 1
    choose(True, ["logStatusError"])
    assert fails() == 2
    choose(False, [])
    assert fails() == 3
    choose(True, [])
    assert fails() == 4
    slave.freeInstance()
    print(f"  tank, FMI {version}: messages by category")


def inputs_act(version):
    """Piecewise constant inputs and a parameter that changes, against the closed form."""
    path = exported(model("tank.mo", TANK), version)
    slave, description = opened(path)
    names = {v.name: v.valueReference for v in description.modelVariables}
    assert description.coSimulation.canHandleVariableCommunicationStepSize
    slave_start(slave, version, 0.0)
    x, lag = 1.0, 0.5
    for k in range(20):
        u = float(np.cos(0.7 * k))
        if k == 10:
            lag = 0.8
            put(slave, version, [names["T"]], [lag])
        put(slave, version, [names["u"]], [u])
        step(slave, version, 0.25 * k, 0.25)
        x = 2 * u + (x - 2 * u) * np.exp(-0.25 / lag)
        found = get(slave, version, [names["x"], names["y"], names["q"]])
        assert np.allclose(found, [x, x + u, 2 * u], rtol=1e-7, atol=1e-7), (k, found, x)
    if version == 2:
        # A ramp by its derivative: x follows u = k t with a lag.
        slave.reset()
        slave_start(slave, version, 0.0)
        put(slave, version, [names["u"]], [0.0])
        slave.setRealInputDerivatives([names["u"]], [1], [3.0])
        step(slave, version, 0.0, 1.0)
        exact = 6 * (1 - 0.5) + (1 + 6 * 0.5) * np.exp(-2)
        found = get(slave, version, [names["x"], names["u"]])
        assert np.allclose(found, [exact, 3.0], rtol=1e-7), (found, exact)
    slave.freeInstance()
    print(f"  tank, FMI {version}: inputs, derivatives and a parameter act as they should")


def steps_end_at_events():
    """Event mode and early return of version 3.0: a step ends at each bounce of a ball."""
    path = exported(model("ball.mo", BALL), 3)
    description = read_model_description(path)
    assert description.coSimulation.hasEventMode
    slave = instantiate_fmu(
        extract(path), description, "CoSimulation", event_mode_used=True, early_return_allowed=True
    )
    slave.enterInitializationMode(startTime=0.0, tolerance=1e-8)
    slave.exitInitializationMode()
    slave.updateDiscreteStates()
    slave.enterStepMode()
    time, found = 0.0, []
    while time < 1.5:
        event, ends, early, last = slave.doStep(currentCommunicationPoint=time, communicationStepSize=0.25)
        time = last
        if event:
            assert not ends
            found.append(time)
            slave.enterEventMode()
            slave.updateDiscreteStates()
            slave.enterStepMode()
    fall = np.sqrt(2 / 9.81)
    bounces = [fall * (1 + 2 * sum(0.8**j for j in range(1, k + 1))) for k in range(len(found))]
    assert len(found) == 2 and np.allclose(found, bounces, rtol=1e-9), (found, bounces)
    slave.freeInstance()
    print("  ball, FMI 3: steps end at events")


def events_follow_inputs(version):
    """Inputs and parameters that change during a run with events, against the closed form."""
    slave, description = opened(exported(model("valve.mo", VALVE), version))
    names = reals(description)
    slave_start(slave, version, 0.0)
    x, lag, leak, n, before = 0.0, 0.5, 0.0, 0, 0.0
    inputs = [2.0, 2.0, 2.0, 0.5, -1.0, -1.0, 3.0, 3.0, 1.0, -2.0]
    for k, u in enumerate(inputs):
        if k == 3:
            lag = 0.8
            put(slave, version, [names["T"]], [lag])
        put(slave, version, [names["u"]], [u])
        if u < 0 <= before:
            leak, n = 0.0, n + 10
        before, left = u, 0.3
        aim = u - leak
        if x <= 1 < aim + (x - aim) * np.exp(-left / lag):
            till = lag * np.log((x - aim) / (1 - aim))
            x, left, leak, n = 1.0, left - till, 3.0, n + 1
            aim = u - leak
        x = aim + (x - aim) * np.exp(-left / lag)
        if k == 4:
            keep = slave.getFMUstate if version == 2 else slave.getFMUState
            bytes_of = slave.serializeFMUstate if version == 2 else slave.serializeFMUState
            kept = bytes_of(keep())
            from_bytes = slave.deSerializeFMUstate if version == 2 else slave.deserializeFMUState
            (slave.setFMUstate if version == 2 else slave.setFMUState)(from_bytes(kept))
        step(slave, version, 0.3 * k, 0.3)
        counted = slave.getInteger([names["n"]]) if version == 2 else slave.getInt32([names["n"]])
        found = get(slave, version, [names["x"], names["leak"]])
        assert np.allclose(found, [x, leak], rtol=1e-6, atol=1e-6), (k, found, x, leak)
        assert counted[0] == n, (k, counted, n)
    slave.freeInstance()
    run = simulate_fmu(
        exported(model("ball.mo", BALL), version), fmi_type="CoSimulation", stop_time=0.4,
        start_values={"g": 5.0}, output=["h"],
    )
    assert abs(run["h"][-1] - 0.6) < 1e-9, run["h"][-1]
    print(f"  valve, FMI {version}: events follow inputs and parameters that change")


def wrong_calls_are_refused(version):
    path = exported(model("tank.mo", TANK), version)
    said = []
    slave, description = opened(path, said)
    names = {v.name: v.valueReference for v in description.modelVariables}
    slave_start(slave, version, 0.0)
    calls = [
        lambda: get(slave, version, [12345]),
        lambda: put(slave, version, [names["y"]], [1.0]),
        lambda: put(slave, version, [names["x"]], [1.0]),
        lambda: put(slave, version, [names["u"]], [float("nan")]),
        lambda: step(slave, version, 5.0, 0.1),
        lambda: step(slave, version, 0.0, -0.1),
    ]
    for at, call in enumerate(calls):
        try:
            call()
            raise AssertionError(f"call {at} was not refused")
        except FMICallException as exception:
            assert exception.status == 3, exception
    assert len(said) == len(calls), said
    slave.freeInstance()
    print(f"  tank, FMI {version}: wrong calls are refused with a message")


def others_run_them(version):
    """A second importer, Ecos: the same ends by co-simulation."""
    # It asks for a library that its package leaves to others.
    ctypes.CDLL(f"{sys.prefix}/lib/libtbb.so.12", mode=ctypes.RTLD_GLOBAL)
    from ecospy import EcosSimulation, EcosSimulationStructure

    for source, to, more in (("pendulum", 1.0, ()), (model("ball.mo", BALL), 1.0, ())):
        path = exported(source, version, *more)
        structure = EcosSimulationStructure()
        structure.add_model("m", path)
        with EcosSimulation(structure=structure, step_size=0.01) as run:
            run.init()
            run.step_until(to)
            description = read_model_description(path)
            shown = [v for v in description.modelVariables if v.variability == "continuous"]
            shown = [v.name for v in shown if v.causality in ("local", "output") and "der(" not in v.name]
            last = {name: run.get_real(f"m::{name}") for name in shown}
            time = run.get_time()
        solved = json.loads(daelight("solve", source, "--json", "--to", repr(time), *more))
        close(source, last, solved["final"], 1e-6)
    print(f"  pendulum, ball, FMI {version}: the same in Ecos")


FOREIGN2 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Foreign" guid="{foreign}">
  <CoSimulation modelIdentifier="foreign" canHandleVariableCommunicationStepSize="true"/>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.1"/>
  <ModelVariables>
    <ScalarVariable name="x" valueReference="1" causality="output" initial="exact"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="k" valueReference="2" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="manner" valueReference="3" causality="parameter" variability="fixed"><Integer start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1"/></Outputs></ModelStructure>
</fmiModelDescription>
"""

FOREIGN3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Foreign" instantiationToken="{foreign}">
  <CoSimulation modelIdentifier="foreign" canHandleVariableCommunicationStepSize="true"/>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.1"/>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
    <Float64 name="x" valueReference="1" causality="output" initial="exact" start="1"/>
    <Float64 name="k" valueReference="2" causality="parameter" variability="fixed" start="1"/>
    <Int32 name="manner" valueReference="3" causality="parameter" variability="fixed" start="0"/>
    <UInt64 name="rows" valueReference="5" causality="structuralParameter" variability="fixed" start="2"/>
    <Float64 name="a" valueReference="4" causality="output" initial="calculated"><Dimension valueReference="5"/><Dimension start="3"/></Float64>
  </ModelVariables>
  <ModelStructure><Output valueReference="1"/><Output valueReference="4"/><InitialUnknown valueReference="4"/></ModelStructure>
</fmiModelDescription>
"""


def fmus_of_others(version):
    """`check` and `solve` of an FMU that somebody else compiled: it runs, prints, crashes, hangs, fails, ends early."""
    source = Path(__file__).with_name("foreign.c")
    library = FOLDER / "foreign.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", str(library), str(source)], check=True)
    path = FOLDER / f"foreign-{version}.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", FOREIGN2 if version == 2 else FOREIGN3)
        archive.write(library, f"binaries/{'linux64' if version == 2 else 'x86_64-linux'}/foreign.so")
    assert not validate_fmu(str(path))
    checked = subprocess.run([PROGRAM, "check", str(path)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr

    def run(*more):
        table = FOLDER / "foreign.csv"
        done = subprocess.run(
            [PROGRAM, "solve", str(path), "--json", "--out", str(table), *more], capture_output=True, text=True
        )
        times = [float(line.split(",")[0]) for line in table.read_text().splitlines()[1:]]
        return done.returncode, json.loads(done.stdout), times

    code, said, times = run("--set", "k=2", "--set", "x=3")
    assert code == 0 and len(times) == 11, (code, said)
    assert abs(said["final"]["x"] - 3 * np.exp(-2)) < 1e-3, said
    if version == 3:
        last = said["final"]
        assert (last["a[1,3]"], last["a[2,1]"], last["a[2,3]"]) == (3 * last["x"], 2.0, 6.0), said
    expected = {
        1: (0, "finished", 1.0, "step from 0"),
        2: (4, "fmu_crashed", 0.5, ""),
        3: (4, "budget", 0.5, ""),
        4: (4, "fmu_failed", 0.5, "the tank is empty"),
        5: (4, "fmu_ended", 0.5, "the tank overflows"),
    }
    for manner, (status, reason, last, text) in expected.items():
        code, said, times = run("--set", f"manner={manner}", "--budget", "3s")
        assert (code, said["reason"]) == (status, reason), (manner, code, said)
        assert abs(times[-1] - last) < 1e-9, (manner, times)
        assert any(text in line for line in said["warnings"]) or not text, (manner, said)
    print(f"  an FMU of others, FMI {version}: runs, prints, crashes, hangs, fails and ends; values are kept")


def own_fmus_run_again(version):
    """`solve` of an FMU of daelight gives what `solve` of its model gives."""
    solved = json.loads(daelight("solve", "pendulum", "--json", "--to", "1"))["final"]
    again = json.loads(daelight("solve", exported("pendulum", version), "--json", "--to", "1"))["final"]
    close("pendulum", again, solved, 1e-7)
    ended = subprocess.run(
        [PROGRAM, "solve", exported("robotic-arm", version), "--json", "--to", "2"], capture_output=True, text=True
    )
    said = json.loads(ended.stdout)
    assert ended.returncode == 4 and said["reason"] == "fmu_ended", said
    assert abs(said["time"] - 1.5446260000352117) < 1e-7, said
    assert any("sin(x3) = 0" in line for line in said["warnings"]), said
    print(f"  pendulum and arm, FMI {version}: solved again from their FMUs")


def many_instances(version):
    path = exported("pendulum", version)
    folder = extract(path)
    description = read_model_description(path)
    for _ in range(300):
        instantiate_fmu(folder, description, "CoSimulation").freeInstance()
    several = [instantiate_fmu(folder, description, "CoSimulation") for _ in range(3)]
    lengths = [1.0, 2.0, 3.0]
    reference = {v.name: v.valueReference for v in description.modelVariables}
    for slave, length in zip(several, lengths):
        put(slave, version, [reference["L"]], [length])
        put(slave, version, [reference["x"]], [length])
        slave_start(slave, version, 0.0)
    for slave in several:
        step(slave, version, 0.0, 1.0)
    for slave, length in zip(several, lengths):
        x, y = get(slave, version, [reference["x"], reference["y"]])
        assert abs(x * x + y * y - length**2) < 1e-9, (x, y, length)
        slave.freeInstance()
    print(f"  pendulum, FMI {version}: instances do not know of each other")


def reals(description):
    return {v.name: v.valueReference for v in description.modelVariables}


def directional(slave, unknowns, knowns, seed):
    return np.array(slave.getDirectionalDerivative(unknowns, knowns, seed))


def derivatives_are_exact(source, version, *more, most=6, h=1e-5):
    """Directional derivatives of rates and unknowns by states, in model exchange, against differences."""
    path = exported(source, version, *more)
    description = read_model_description(path)
    slave = instantiate_fmu(extract(path), description, "ModelExchange")
    slave_start(slave, version, 0.0)
    rates = [unknown.variable for unknown in description.derivatives]
    states = [v.derivative.valueReference for v in rates]
    shown = [v for v in description.modelVariables if v.causality in ("local", "output")]
    shown = [v for v in shown if v.variability == "continuous" and v.type in ("Real", "Float64")]
    told = [v.valueReference for v in shown]
    n = len(states)
    room = (ctypes.c_double * n)()
    slave.getContinuousStates(room, n)
    begin = np.array(room)

    def values(x):
        put_states(slave, x)
        return np.array(get(slave, version, told))

    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(most):
        way = rng.uniform(-1, 1, n) * np.maximum(1e-3, np.abs(begin))
        ends = [values(begin + k * h * way) for k in (-2, -1, 1, 2)]
        differences = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        put_states(slave, begin)
        found = directional(slave, told, states, list(way))
        size = np.maximum(1.0, np.abs(values(begin))) * np.maximum(1.0, np.abs(way).max())
        error = np.abs(found - differences) / np.maximum(size, np.abs(differences))
        worst = max(worst, error.max())
        assert error.max() < 1e-6, (source, version, shown[int(error.argmax())].name, error.max())
        if version == 3:
            weights = rng.uniform(-1, 1, len(told))
            adjoint = np.array(slave.getAdjointDerivative(told, states, list(weights), len(states)))
            forwards, backwards = weights @ found, adjoint @ way
            assert abs(forwards - backwards) <= 1e-9 * max(1, np.abs(weights * found).sum()), (forwards, backwards)
    slave.freeInstance()
    print(f"  {Path(source).name}, FMI {version}: derivatives by {n} states exact, {worst:.0e} from differences")


def put_states(slave, x):
    slave.setContinuousStates((ctypes.c_double * len(x))(*x), len(x))


def derivatives_without_states(source, version, *more):
    """A model that leaves nothing free has no states to differentiate by; the call goes through."""
    path = exported(source, version, *more)
    slave, description = opened(path)
    assert not description.derivatives, description.derivatives
    slave_start(slave, version, 0.0)
    shown = [v.valueReference for v in description.modelVariables if v.causality == "local"]
    assert not np.any(directional(slave, shown[-2:], [], []))
    slave.freeInstance()


def derivatives_by_inputs(version):
    """Derivatives by an input: the tank in both kinds, and a model that differentiates its input, in co-simulation."""
    path = exported(model("tank.mo", TANK), version)
    for kind in ("CoSimulation", "ModelExchange"):
        slave, description = opened(path, kind=kind)
        names = reals(description)
        slave_start(slave, version, 0.0)
        if kind == "CoSimulation":
            put(slave, version, [names["u"]], [0.3])
            step(slave, version, 0.0, 0.4)
        unknowns = [names[name] for name in ("y", "q", "der(x)")]
        by_u = directional(slave, unknowns, [names["u"]], [1.0])
        by_x = directional(slave, unknowns, [names["x"]], [2.0])
        assert np.allclose(by_u, [1, 2, 4], rtol=1e-12, atol=1e-12), by_u
        assert np.allclose(by_x, [2, 0, -4], rtol=1e-12, atol=1e-12), by_x
        slave.freeInstance()
    slave, description = opened(exported(model("servo.mo", SERVO), version))
    names = reals(description)
    slave_start(slave, version, 0.0)
    step(slave, version, 0.0, 0.5)
    found = directional(slave, [names["f"], names["x"]], [names["u"]], [1.0])
    assert np.allclose(found, [7, 1], rtol=1e-12), found
    slave.freeInstance()
    print(f"  tank and servo, FMI {version}: derivatives by their input")


def units_are_in_base_units(version):
    """What a number of a unit is in base units; a name that is no unit stays a name."""
    names = {
        "kN": (1000.0, 0.0, {"kg": 1, "m": 1, "s": -2}), "deg": (np.pi / 180, 0.0, {"rad": 1}),
        "rpm": (np.pi / 30, 0.0, {"s": -1, "rad": 1}), "degC": (1.0, 273.15, {"K": 1}),
        "mH": (1e-3, 0.0, {"kg": 1, "m": 2, "s": -2, "A": -2}), "W/(m2.K)": (1.0, 0.0, {"kg": 1, "s": -3, "K": -1}),
    }
    declared = "".join(f'  parameter Real p{at}(unit = "{name}") = 1;\n' for at, name in enumerate([*names, "xyz"]))
    text = f"model Units\n{declared}  Real x(start = 0);\nequation\n  der(x) = 1;\nend Units;\n"
    description = read_model_description(exported(model("units.mo", text), version))
    found = {unit.name: unit.baseUnit for unit in description.unitDefinitions}
    assert found["xyz"] is None, found
    for name, (factor, offset, exponents) in names.items():
        base = found[name]
        told = {key: getattr(base, key) for key in ("kg", "m", "s", "A", "K", "mol", "cd", "rad")}
        assert {key: int(e) for key, e in told.items() if int(e or 0)} == exponents, (name, told)
        assert np.isclose(float(base.factor), factor, rtol=1e-15) and float(base.offset) == offset, name
    print(f"  units, FMI {version}: in base units")


def others_load_them(version, all_of_them):
    """The second importer loads all files and gives their values at the start and behind a step."""
    ctypes.CDLL(f"{sys.prefix}/lib/libtbb.so.12", mode=ctypes.RTLD_GLOBAL)
    from ecospy import EcosSimulation, EcosSimulationStructure

    for source, to, _, more in all_of_them:
        path = exported(source, version, *more)
        structure = EcosSimulationStructure()
        structure.add_model("m", path)
        shown = [v for v in read_model_description(path).modelVariables if v.type in ("Real", "Float64")]
        shown = [v.name for v in shown if v.causality in ("local", "output") and "der(" not in v.name]
        with EcosSimulation(structure=structure, step_size=0.01 * to) as run:
            run.init()
            run.step()
            time = run.get_time()
            last = {name: run.get_real(f"m::{name}") for name in shown}
        solved = json.loads(daelight("solve", source, "--json", "--to", repr(time), *more))
        close(source, last, solved["final"], 1e-6)
    print(f"  {len(all_of_them)} FMUs, FMI {version}: loaded by Ecos")


def main():
    ball, servo, tank = model("ball.mo", BALL), model("servo.mo", SERVO), model("tank.mo", TANK)
    # The models of model exchange and co-simulation with the end of a run, CVode's tolerance and what makes them.
    nine = [
        ("pendulum", 10, 1e-11, ()),
        ("four-bar", 1, 1e-9, ("--free", "q[1]=time")),
        ("robotic-arm", 1.5, 1e-9, ()),
        # Its path ends at t = 0.1, where a step of the importer ends too.
        ("e1", 0.2, 1e-11, ()),
        # An error of the first motor's angle enters its torque with Jm (k/d)^2 = 4e8 N.m/rad: CVode is off by 4e-4 at 1e-9,
        # 1e-6 at 1e-12, 2e-7 at 1e-13.
        ("e12", 0.5, 1e-13, ()),
        ("akzo-nobel", 180, 1e-9, ()),
        ("cstr", 1, 1e-9, ()),
        (ball, 2, 1e-11, ()),
        ("pendulum-chain", 0.5, 1e-9, ("--set", "N=100")),
    ]
    for version in (2, 3):
        for source, to, tolerance, more in nine:
            same_end(source, version, to, *more)
            same_end_by_others(source, version, to, *more, tolerance=tolerance)
            states_repeat(source, version, to, *more)
            states_of_others_repeat(source, version, to, *more)
        same_end(servo, version, 2)
        same_end_by_others(model("relay.mo", RELAY), version, 9.3, tolerance=1e-11)
        same_end_by_others(model("thermostat.mo", THERMOSTAT), version, 10, tolerance=1e-11)
        same_end_by_others(model("sampled.mo", SAMPLED), version, 4, tolerance=1e-11)
        same_end_by_others(model("stairs.mo", STAIRS), version, 7, tolerance=1e-11)
        same_end_by_others(model("peg.mo", PEG), version, 3, tolerance=1e-11)
        same_end_by_others(model("clutch.mo", CLUTCH), version, 3, tolerance=1e-11)
        events_of_others_repeat(version)
        rates_are_those_of_the_run(version)
        for source in ("pendulum", "e1", "e12", "akzo-nobel", "cstr", ball, model("peg.mo", PEG)):
            derivatives_are_exact(source, version)
        derivatives_are_exact("pendulum-chain", version, "--set", "N=100", most=1, h=1e-6)
        derivatives_without_states("robotic-arm", version)
        derivatives_without_states("four-bar", version, "--free", "q[1]=time")
        derivatives_by_inputs(version)
        same_end("Parts.Electrical.Examples.LowPass", version, 0.1)
        the_arm_ends_where_it_is_folded(version)
        states_repeat(tank, version, 1, inputs=True)
        messages_are_chosen(version)
        inputs_act(version)
        events_follow_inputs(version)
        if version == 3:
            steps_end_at_events()
        wrong_calls_are_refused(version)
        many_instances(version)
        others_run_them(version)
        others_load_them(version, nine)
        own_fmus_run_again(version)
        fmus_of_others(version)
        units_are_in_base_units(version)
        for used in FOLDER.iterdir():
            if used.is_dir():
                shutil.rmtree(used, ignore_errors=True)
    print("FMUs: all as they should be")


main()
