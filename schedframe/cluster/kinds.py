"""Known kinds of objects, so that a misspelt one is an error and not an empty answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

from .._base.wording import described
from ..api import KINDS, ClusterObject, installed_kinds
from ..errors import InputError


def check_kinds(kinds: Iterable[str], there: Collection[str]) -> None:
    """Raise :class:`InputError` for a kind that no class has, and that is not among those *there*.

    O(kinds); a kind that is neither there nor built in costs O(classes of kinds in the program).
    """
    for kind in kinds:
        if kind in there or kind in KINDS:
            continue
        if not isinstance(kind, str):
            raise InputError("kind", f"{described(kind)} is not a kind", 'give its name, such as "Pod"')
        known = {*KINDS, *there, *_kinds_below(ClusterObject), *(cls.KIND for cls in installed_kinds())}
        if kind not in known:
            names = {name.lower(): name for name in sorted(known)}
            close = get_close_matches(kind.lower(), names, n=1)
            fix = f"did you mean {names[close[0]]}?" if close else "define a class with that KIND first"
            raise InputError("kind", f'there is no kind "{kind}"', fix)


def _kinds_below(cls: type[ClusterObject]) -> Iterator[str]:
    """Yield the kinds of the classes below *cls*."""
    for each in cls.__subclasses__():
        if isinstance(getattr(each, "KIND", None), str):
            yield each.KIND
        yield from _kinds_below(each)
