"""DefaultTolerationSeconds, and how two lists of tolerations become one.

Rules: plugin/pkg/admission/defaulttolerationseconds, pkg/util/tolerations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from ...api import EXISTS, NO_EXECUTE, Pod, Toleration
from .changes import Change
from .parts import AdmissionPart

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
SECONDS: Final = 300
"""Seconds for which pods stay on a node that is not ready or unreachable."""

_EQUAL: Final = "Equal"
_ADDED: Final = Change(
    AdmissionPart.DEFAULT_TOLERATION_SECONDS,
    f"{SECONDS} s on nodes that are not ready or unreachable",
    is_routine=True,
)


def with_default_tolerations(pod: Pod, changes: list[Change]) -> Pod:
    """Return *pod* with tolerations for nodes that are not ready or unreachable, unless it has such."""
    given = pod.spec.tolerations
    added = tuple(
        Toleration(key, EXISTS, "", NO_EXECUTE, SECONDS)
        for key in (NOT_READY, UNREACHABLE)
        if not any(each.key in (key, "") and each.effect in (NO_EXECUTE, "") for each in given)
    )
    if not added:
        return pod
    changes.append(_ADDED)
    return evolve(pod, spec=evolve(pod.spec, tolerations=(*given, *added)))


def merged(first: Sequence[Toleration], second: Sequence[Toleration]) -> tuple[Toleration, ...]:
    """Return both without those that another one covers; of equal ones the first stays. O(n²)."""
    every = (*first, *second)
    kept: list[Toleration] = []
    for place, each in enumerate(every):
        if any(covers(other, each) for other in kept):
            continue
        if any(other != each and covers(other, each) for other in every[place + 1 :]):
            continue
        kept.append(each)
    return tuple(kept)


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """Return whether *wide* tolerates all that *narrow* does, as the API server decides it."""
    if wide == narrow:
        return True
    if narrow.key != wide.key and (wide.key or wide.operator != EXISTS):
        return False
    if wide.effect not in (narrow.effect, ""):
        return False
    if wide.effect == NO_EXECUTE and not _stays_as_long(wide.toleration_seconds, narrow.toleration_seconds):
        return False
    if wide.operator == EXISTS:
        return True
    # an empty operator of the narrow one means Equal too, and is not taken for it here
    return wide.operator in (_EQUAL, "") and narrow.operator == _EQUAL and narrow.value == wide.value


def _stays_as_long(seconds: int | None, others: int | None) -> bool:
    """Return whether *seconds* (``None``: for ever) are no fewer than *others*."""
    return seconds is None or (others is not None and others <= seconds)
