"""daelight brings differential-algebraic equations to light.

>>> import daelight
>>> arm = daelight.example("robotic-arm")
>>> run = arm.solve()
>>> run.singularities[0].kind
'5-A'
>>> run.singularities[0].locus
'sin(x3)'
"""

from ._daelight import __version__
from .dae import DaeResult, consistent_initial_conditions, solve_dae
from .documents import (
    CheckReport,
    Configurations,
    Document,
    LinearReport,
    Mode,
    ModelEvent,
    Passport,
    Report,
    RunReport,
    Singularity,
    Start,
)
from .errors import (
    DaelightError,
    ModelError,
    NumericsError,
    SingularityError,
    StartError,
)
from .figure import Figure
from .linear import Descriptor, Linearization
from .model import Feedforward, Gradient, Model, example, examples, load
from .words import explain
from .results import Result
from .sweep import Ensemble, SweepResult
from .symbolic import from_sympy, lagrange

__all__ = [
    "CheckReport",
    "Configurations",
    "DaeResult",
    "DaelightError",
    "Descriptor",
    "Document",
    "Ensemble",
    "Feedforward",
    "Figure",
    "Gradient",
    "LinearReport",
    "Linearization",
    "Mode",
    "Model",
    "ModelError",
    "ModelEvent",
    "NumericsError",
    "Passport",
    "Report",
    "Result",
    "RunReport",
    "Singularity",
    "SingularityError",
    "Start",
    "StartError",
    "SweepResult",
    "__version__",
    "consistent_initial_conditions",
    "example",
    "examples",
    "explain",
    "from_sympy",
    "lagrange",
    "load",
    "solve_dae",
]
