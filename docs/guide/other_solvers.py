"""What ordinary solvers do with two DAEs that were turned into ODEs by hand. Needs scipy; prints what the guide shows."""

import sys

import numpy as np
from scipy.integrate import solve_ivp

folder = sys.argv[1] if len(sys.argv) > 1 else None


def table(name: str, columns: str, rows: np.ndarray) -> None:
    if folder:
        np.savetxt(f"{folder}/{name}.csv", rows, delimiter=",", header=columns, comments="", fmt="%.9g")


# 1. A mass on a rod. The condition x^2 + y^2 = 1 was differentiated twice to get the force, and then left out.
def swing(t, state):
    x, y, vx, vy = state
    force = (vx**2 + vy**2 - 9.81 * y) / (x**2 + y**2)
    return [vx, vy, -force * x, -force * y - 9.81]


print("length of the rod, which is 1 m")
for method in ("RK45", "BDF", "LSODA"):
    run = solve_ivp(swing, (0, 10), [1, 0, 0, 0], method=method)
    length = np.hypot(run.y[0], run.y[1])
    print(f"  {method:6} success: {run.success}  after 10 s: {length[-1]:.2f} m")
    table(f"rod-{method.lower()}", "time,length", np.array([run.t, length]).T)


# 2. The angles of the robotic arm. The path was differentiated once, and the equations were solved for the speeds.
def arm(t, angles):
    x1, x3 = angles
    along, across = np.array([np.cos(x1), np.sin(x1)]), np.array([np.cos(x1 + x3), np.sin(x1 + x3)])
    turned = lambda v: np.array([-v[1], v[0]])
    matrix = np.array([turned(along) + turned(across), turned(across)]).T
    e = np.exp(t)
    speed = np.array([-e * np.sin(e - 1) - np.sin(t - 1), -e * np.cos(1 - e) - np.cos(1 - t)])
    return np.linalg.solve(matrix, speed)


print("elbow x3 at t = 1.9, which is 4.786")
for method, tolerance in (("RK45", 1e-3), ("RK45", 1e-6), ("RK45", 1e-8), ("LSODA", 1e-6), ("BDF", 1e-6)):
    run = solve_ivp(arm, (0, 1.9), [0, 1], method=method, rtol=tolerance, atol=tolerance)
    print(f"  {method:6} rtol {tolerance:.0e}  success: {run.success}  x3 = {run.y[1, -1]:.3f}")
    table(f"elbow-{method.lower()}-{tolerance:.0e}", "time,x3", np.array([run.t, run.y[1]]).T)
