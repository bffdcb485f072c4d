"""rumoca, a Modelica compiler, on the manipulators as flat Modelica: it reduces the index by itself.

Takes files named `machine form.mo`, prints one JSON document for each of them and each tolerance.
"""
import json
import pathlib
import sys
import time

import rumoca

import manipulator_problems as problems

REPEATS = 3
ENDS = dict(E1=problems.E1["T"], E12=problems.E12_TIME)


def run(text, end, tolerance):
    """Seconds to compile and to simulate, and the values at the end."""
    begin = time.perf_counter()
    model = rumoca.Session().loads(text, model=text.split()[1])
    compiled = time.perf_counter() - begin
    config = rumoca.SimConfig(rtol=tolerance, atol=tolerance, max_wall_seconds=20)
    begin = time.perf_counter()
    result = model.simulate(t=(0, end), dt=end, config=config)
    simulated = time.perf_counter() - begin
    return compiled, simulated, {name: result[name][-1] for name in result.names}


for path in map(pathlib.Path, sys.argv[1:]):
    machine, form = path.stem.split(" ", 1)
    text, end = path.read_text(), ENDS[machine]
    for tolerance in problems.TOLERANCES:
        document = dict(problem=machine, tool="rumoca", version=rumoca.version(), form=form, tolerance=tolerance, end=end)
        begin = time.perf_counter()
        try:
            runs = [run(text, end, tolerance) for _ in range(REPEATS)]
            setup, solve = (min(r[i] for r in runs) for i in range(2))
            document.update(success=True, message="", setup=setup, solve=solve, values=runs[-1][2])
        except Exception as error:
            message = " ".join(str(error).split())[:160]
            document.update(success=False, message=message, setup=0.0, solve=time.perf_counter() - begin)
        print(json.dumps(document), flush=True)
