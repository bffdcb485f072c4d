"""What callers give: each argument is read here, or refused by its name, what it takes and what it was given.

>>> from daelight.arguments import span
>>> span("t_span", (0, 4))
(0.0, 4.0)
>>> span("t_span", 4)
Traceback (most recent call last):
...
ValueError: `t_span` takes two times, the start and the end, such as (0, 4); it was given 4
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Names that a message lists.
_MOST_NAMES = 12
# Kinds of numpy's entries that are real numbers: truth values, integers with and without a sign, floating point, objects that may be numbers.
_REAL_KINDS = "biufO"

# Characters of a value that a message shows.
_LONGEST = 80


def shown(value: object) -> str:
    """A value as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def refused(name: str, takes: str, given: object) -> ValueError:
    """What is said of an argument that cannot be used."""
    return ValueError(f"`{name}` takes {takes}; it was given {shown(given)}")


def missing(what: str, name: object, names: Iterable[str]) -> KeyError:
    """What is said of a name that does not exist, with those that do."""
    known = list(names)
    near = difflib.get_close_matches(str(name), known, 1)
    if near:
        return KeyError(f"`{name}` is not {what}; did you mean `{near[0]}`?")
    listed = ", ".join(known[:_MOST_NAMES]) + (", …" if len(known) > _MOST_NAMES else "")
    return KeyError(f"`{name}` is not {what}; there are {listed or 'none'}")


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple of some kind, and not a text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether a value maps keys to values."""
    return isinstance(value, Mapping)


def _is_integer(value: object) -> TypeGuard[np.integer[Any]]:
    return isinstance(value, np.integer)


def _is_array(value: object) -> TypeGuard[NDArray[Any]]:
    return isinstance(value, np.ndarray)


def real(value: Any) -> float | None:
    """A finite real number, or None where the value is not one."""
    if value is None or isinstance(value, (str, bytes)) or getattr(value, "ndim", 1 if hasattr(value, "__len__") else 0) > 0:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def number(name: str, value: Any, takes: str = "a finite number") -> float:
    """A finite number."""
    found = real(value)
    if found is None:
        raise refused(name, takes, value)
    return found


def optional_number(name: str, value: Any, takes: str = "a finite number") -> float | None:
    """A finite number, or None where none was given."""
    return None if value is None else number(name, value, takes)


def count(name: str, value: Any, least: int = 0) -> int:
    """A whole number that is not less than `least`."""
    found = real(value)
    if found is None or found < least or found != int(found):
        raise refused(name, f"a whole number, {least} or more", value)
    return int(found)


def optional_count(name: str, value: Any) -> int | None:
    """A whole number that is not negative, or None where none was given."""
    return None if value is None else count(name, value)


def seconds(name: str, value: Any) -> float:
    """A time that something may take."""
    found = real(value)
    if found is None or found < 0.0:
        raise refused(name, "a number of seconds, 0 or more", value)
    return found


def one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuses what is none of some words."""
    if value not in choices:
        *most, last = (f'"{choice}"' for choice in choices)
        raise refused(name, f"{', '.join(most)} or {last}", value)


def text(name: str, value: Any, takes: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise refused(name, takes, value)
    return value


def numbers(name: str, values: Any, takes: str = "a list of finite numbers") -> Floats:
    """A list of finite numbers; NaN is refused."""
    found = _array(values)
    if found is None or found.ndim != 1 or not np.isfinite(found).all():
        raise refused(name, takes, values)
    return found


def _array(values: Any) -> Floats | None:
    """An array of real numbers, or None where the values are none."""
    if values is None or isinstance(values, (str, bytes)) or is_mapping(values):
        return None
    try:
        found = np.asarray(values)
        if found.dtype.kind not in _REAL_KINDS:
            return None
        return np.ascontiguousarray(found, dtype=float).reshape(found.shape)
    except (TypeError, ValueError):
        return None


def span(name: str, value: Any) -> tuple[float, float]:
    """The start and the end of a run."""
    ends = [real(end) for end in value] if is_sequence(value) or _is_array(value) and value.ndim == 1 else []
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        alone = real(value) if not isinstance(value, bool) else None
        example = f"(0, {alone:g})" if alone is not None and alone > 0 else "(0, 4)"
        raise refused(name, f"two times, the start and the end, such as {example}", value)
    return ends[0], ends[1]


def optional_span(name: str, value: Any) -> tuple[float | None, float | None]:
    """The start and the end of a run, both None where nothing was given."""
    return (None, None) if value is None else span(name, value)


def times_within(name: str, values: Any, ends: tuple[float, float]) -> Floats:
    """Times at which values are wanted, all of them between the ends of the run."""
    found = numbers(name, values, "a list of times")
    first, last = min(ends), max(ends)
    outside = found[(found < first) | (found > last)]
    if outside.size:
        raise ValueError(f"`{name}` takes times of the run, from {first:g} to {last:g}; t = {float(outside[0])!r} lies outside")
    return found


def names(name: str, value: Any, takes: str = "a name or a list of names") -> list[str]:
    """One name or several."""
    if isinstance(value, str):
        return [value]
    try:
        found = list(value)
    except TypeError:
        raise refused(name, takes, value) from None
    if not all(isinstance(one, str) for one in found):
        raise refused(name, takes, value)
    return found


def by_name(name: str, value: Any, takes: str) -> Mapping[str, Any]:
    """A mapping from names to whatever."""
    if value is None:
        return {}
    if not is_mapping(value) or not all(isinstance(key, str) for key in value):
        raise refused(name, takes, value)
    return value


def named_values(name: str, value: Any) -> list[tuple[str, float]]:
    """Numbers by name, as the compiled half takes them."""
    found = by_name(name, value, 'values by name, such as {"x": 1.0}')
    return [(key, number(f'{name}["{key}"]', one)) for key, one in found.items()]


def modelica(name: str, value: Any) -> str:
    """A value of a parameter as Modelica writes it; a text stands for an expression."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, int) or _is_integer(value):
        return str(int(value))
    alone = real(value)
    if alone is not None:
        return repr(alone)
    items: Any = value.tolist() if _is_array(value) else value
    if not is_sequence(items):
        raise refused(name, 'a finite number, True or False, a list of these, or an expression as text, such as "sqrt(2)"', value)
    return "{" + ", ".join(modelica(name, item) for item in items) + "}"


def settings(argument: str, value: Any) -> list[str]:
    """Values of parameters as Modelica's settings, `name=value` each."""
    given = by_name(argument, value, 'values of parameters by name, such as {"k": 2.0}')
    return [f"{name}={modelica(name, one)}" for name, one in given.items()]


def signal(name: str, value: Any, ends: tuple[float, float], n_samples: int) -> tuple[str, list[float], list[float]]:
    """An input as times and values: of a function, of samples, or of a number, which is constant."""
    place = f'inputs["{name}"]'
    takes = "a number, a function of time that returns a number, or a pair (times, values)"
    first, last = min(ends), max(ends)
    constant = real(value)
    if constant is not None:
        # Samples have increasing times, also where a run stands still.
        return name, [first, last if last > first else first + 1.0], [constant, constant]
    if callable(value):
        asked = np.linspace(first, last, n_samples).tolist()
        return name, asked, [_sampled(place, value, time) for time in asked]
    if isinstance(value, str) or is_mapping(value) or not hasattr(value, "__len__") or len(value) != 2:
        raise refused(place, takes, value)
    times, values = (_array(part) for part in value)
    if times is None or values is None or times.ndim != 1 or values.ndim != 1:
        raise refused(place, takes, value)
    if times.size != values.size:
        raise ValueError(f"`{place}` takes as many values as times; it was given {times.size} times and {values.size} values")
    return name, times.tolist(), values.tolist()


def _sampled(place: str, function: Any, time: float) -> float:
    """A function of time at a time."""
    value = function(time)
    found = real(value)
    if found is None:
        raise ValueError(f"`{place}` takes a function of time that returns a finite number; at t = {time:g} it returned {shown(value)}")
    return found


def samples(value: Any) -> tuple[Floats, dict[str, Floats]]:
    """Times and columns of measured values, in which NaN stands where nothing was measured."""
    takes = 'an expression as text, or samples such as {"t": [0, 1], "x": [1.0, 0.4]}'
    if not is_mapping(value):
        raise refused("loss", takes, value)
    if "t" not in value:
        raise ValueError(f"`loss` has no times: it takes {takes}")
    columns: dict[str, Floats] = {}
    for name, column in value.items():
        found = _array(column)
        if found is None or found.ndim != 1:
            raise refused(f'loss["{name}"]', "a list of numbers", column)
        columns[str(name)] = found
    times = numbers('loss["t"]', columns.pop("t"))
    for name, column in columns.items():
        if column.size != times.size:
            raise ValueError(f'`loss["{name}"]` takes as many values as `loss["t"]` has times, {times.size}; it was given {column.size}')
    return times, columns
