"""Paths of members in a text or manifest, as text (``spec.containers[0].name``) and in steps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from ..errors import InputError
from .valuecodecs import at_key

Steps = tuple[str | int, ...]
"""Keys of objects and indices of lists, from the outside in."""
LineOf = Callable[[Steps], int]
"""Function that returns the line (from 1) of the member at steps, or of the innermost one around it."""

_STEP: Final = re.compile(r'\["(.*?)"\]|\[(\d+)\]|\.?([^.\[\]]+)')


class Mistake(NamedTuple):
    """Something in a text that is no JSON data, and what to do about it."""

    steps: Steps
    line: int
    problem: str
    fix: str
    value: object = None
    """What is there."""
    is_repeated_key: bool = False
    """Whether it is a key that its object has already; the last one counts for those who do not care."""

    @classmethod
    def repeated_key(cls, steps: Steps, line: int, first: int) -> Mistake:
        """Return the mistake of a key at *steps* that is in line *first*, too."""
        problem = f"the key is there twice, first in line {first}"
        return cls(steps, line, problem, "remove one of the two", steps[-1], True)

    @classmethod
    def not_finite(cls, steps: Steps, line: int, value: object) -> Mistake:
        """Return the mistake of a number that is infinite, or none."""
        return cls(steps, line, "there is no such number in JSON", "write a finite one", value)

    def error(self, start: int = 0, location: str = "") -> InputError:
        """Return the error; its path begins with step *start*."""
        error = InputError("", self.problem, self.fix, location=location)
        for step in reversed(self.steps[start:]):
            error = error.at(f"[{step}]") if isinstance(step, int) else at_key(error, step)
        return error


def steps_of(path: str) -> Steps:
    """Return the steps of the path of an :class:`InputError`."""
    return tuple(int(index) if index else quoted or plain for quoted, index, plain in _STEP.findall(path))


def located(name: str, line: int, column: int = 0) -> str:
    """Return a place in a text as editors read it: ``pods.yaml:17``; without *name* ``line 17``."""
    if name:
        return f"{name}:{line}:{column}" if column else f"{name}:{line}"
    return f"line {line}, column {column}" if column else f"line {line}"
