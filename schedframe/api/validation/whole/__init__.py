"""What the API server refuses by rules over several fields of a value, by its published type.

A check gets the value as it was written, with members of any type, and returns errors with paths from there.
A field that is missing is no error of a check unless another field needs it: :data:`.rules.REQUIRED` has
those that every value needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ....errors import InputError
from .cluster import CLUSTER_CHECKS
from .pods import POD_CHECKS

WholeCheck = Callable[[Mapping[str, Any]], Iterable[InputError]]

CHECKS: Final[Mapping[str, WholeCheck]] = {**POD_CHECKS, **CLUSTER_CHECKS}
"""Published type, as ``core.v1.PodSpec`` → its check."""
