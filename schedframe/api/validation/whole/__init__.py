"""Rules of the API server over several fields of a value, by its published type.

A check gets the value as it was written, with members of any type, and returns errors with paths from there.
A field that is missing is no error of a check unless another field needs it: :data:`.rules.REQUIRED` has
those that every value needs. Nearly all values are right: the check of a frequent type returns an empty tuple
as early as it can, and is a generator only behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ....errors import InputError
from .cluster import CLUSTER_CHECKS, REQUIRED_CLUSTER_CHECKS, SEEN_AS
from .pods import ADMITTED_POD_CHECKS, POD_CHECKS, POD_CHECKS_AFTER, REQUIRED_POD_CHECKS

__all__ = [
    "ADMITTED_CHECKS",
    "CHECKS",
    "CHECKS_AFTER",
    "REQUIRED_CHECKS",
    "SEEN_AS",
    "CheckAfter",
    "WholeCheck",
]

WholeCheck = Callable[[Mapping[str, Any]], Iterable[InputError]]
CheckAfter = Callable[[Mapping[str, Any], Sequence[InputError]], Iterable[InputError]]

CHECKS: Final[Mapping[str, WholeCheck]] = {**POD_CHECKS, **CLUSTER_CHECKS}
"""Published type, as ``core.v1.PodSpec`` → its check."""

CHECKS_AFTER: Final[Mapping[str, CheckAfter]] = POD_CHECKS_AFTER
"""Published type → its check, which gets the errors of all parts, too: a part may need another one."""

REQUIRED_CHECKS: Final[Mapping[str, WholeCheck]] = {**REQUIRED_POD_CHECKS, **REQUIRED_CLUSTER_CHECKS}
"""Published type → its check of what must be there, which is made only if missing fields count."""

ADMITTED_CHECKS: Final[Mapping[str, WholeCheck]] = ADMITTED_POD_CHECKS
"""Published type → its check of what admission may mend, which is made of admitted objects only."""
