"""Robertson's reactions as a residual in Python."""

import numpy as np
from numpy.typing import NDArray

import daelight

Floats = NDArray[np.float64]


def reactions(t: float, y: Floats, yp: Floats) -> Floats:
    slow, middle, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([yp[0] + slow - middle, yp[1] - slow + middle + fast, y.sum() - 1.0])


def main() -> None:
    run = daelight.solve_dae(
        reactions, (0.0, 1e7), [1.0, 0.0, 0.0], [-0.04, 0.04, 0.0], rtol=1e-6, atol=[1e-8, 1e-12, 1e-8]
    )
    assert run.success, run.message
    print(run.y[:, -1], run.nfev, run.njev, run.nlu)


if __name__ == "__main__":
    main()
