"""Where does a pendulum stand after a second, for many lengths?"""

import numpy as np

import daelight


def main() -> None:
    found = daelight.example("pendulum").sweep(
        {"L": np.linspace(0.5, 2.0, 20)}, ["status", "final:y"], t_span=(0.0, 1.0)
    )
    for length, height in zip(found["L"], found["final:y"]):
        print(f"{length:.3f} {height:+.9f}")


if __name__ == "__main__":
    main()
