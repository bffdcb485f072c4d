"""A robot with an elastic joint on a prescribed path: index, singularity, and the way past it."""

from pathlib import Path

import daelight


def main() -> None:
    arm = daelight.example("robotic-arm")
    print(arm.analyze().differentiation.index)
    run = arm.solve()
    for found in run.singularities:
        print(found)
    past = arm.solve(on_singularity="continue")
    print(past.message)
    past.plot("x1", "x3").save(Path("arm.svg"))


if __name__ == "__main__":
    main()
