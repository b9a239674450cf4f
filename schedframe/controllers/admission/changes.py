"""Changes by admission, in words that are equal for equal deeds, to count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..._base.value import record
from .parts import AdmissionPart

_NOUNS = {"Pod": "pod", "PersistentVolumeClaim": "claim", "PodGroup": "pod group", "Namespace": "namespace"}


@record(frozen=True)
class Change:
    """One deed of one part on one object; ``kind`` is that of the object.

    ``is_routine``: it happens to nearly every object, and no line is written about it.
    """

    part: AdmissionPart
    did: str
    kind: str = "Pod"
    is_routine: bool = False


def lines_of(counted: Counter[Change], *, routine: bool = False) -> list[str]:
    """Return a line for each change with the number of objects, by part; *routine* ones if asked for."""
    shown = [change for change in counted if routine or not change.is_routine]
    order = {part: place for place, part in enumerate(AdmissionPart)}
    shown.sort(key=lambda change: (order[change.part], change.did, change.kind))
    return [f"{change.part}: {change.did} ({_objects(change.kind, counted[change])})" for change in shown]


def joined(words: Iterable[str]) -> str:
    """Return *words* as ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _objects(kind: str, count: int) -> str:
    noun = _NOUNS.get(kind, kind)
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
