"""Paths of members in a manifest, as text (``spec.containers[0].name``) and in steps."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ..errors import InputError
from .valuecodecs import at_key

Steps = tuple[str | int, ...]
"""Keys of objects and indices of lists, from the outside in."""

_STEP: Final = re.compile(r'\["(.*?)"\]|\[(\d+)\]|\.?([^.\[\]]+)')


class Duplicate(NamedTuple):
    """A key that its object has already."""

    steps: Steps
    line: int
    first: int
    """Line of the same key before."""

    def error(self, start: int) -> InputError:
        """Return the error; its path begins with step *start*."""
        error = InputError("", f"the key is there twice, first in line {self.first}", "remove one of the two")
        for step in reversed(self.steps[start:]):
            error = error.at(f"[{step}]") if isinstance(step, int) else at_key(error, step)
        return error


def steps_of(path: str) -> Steps:
    """Return the steps of the path of an :class:`InputError`."""
    return tuple(int(index) if index else quoted or plain for quoted, index, plain in _STEP.findall(path))
