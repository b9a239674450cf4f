"""The kinds and versions that Kubernetes v1.36 or v1.37 serves, or served once: data of ``kinds.json``.

Kinds of all other groups are those of custom resources, and right whatever their names are. See
``docs/_tools/published_kinds.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import InputError
from .._text import did_you_mean, meant

_DOMAIN: Final = ".k8s.io"
_NAMES_OF_CORE: Final = ("core", "core.k8s.io", "api")
"""Groups that are written for the kinds whose version has no group."""


class Former(NamedTuple):
    """The first release that does not serve a kind in a version (empty: unknown), and the version to use.

    ``successor`` is empty if there is none.
    """

    since: str
    successor: str


class _Kinds(NamedTuple):
    served: Mapping[str, tuple[str, ...]]
    """Version → kinds."""
    former: Mapping[str, Mapping[str, Former]]
    """Version → kind → what became of it."""
    groups: Mapping[str, tuple[str, ...]]
    """Group → the versions that are served, the best one first; former groups have none."""


@cache
def _kinds() -> _Kinds:
    data = json.loads(Path(__file__).with_name("kinds.json").read_text(encoding="utf-8"))
    served = {version: tuple(kinds) for version, kinds in data["served"].items()}
    former = {
        version: {kind: Former(*each) for kind, each in kinds.items()}
        for version, kinds in data["gone"].items()
    }
    groups: dict[str, list[str]] = {}
    for version in _by_preference(served):
        groups.setdefault(group_of(version), []).append(version)
    for version in former:
        groups.setdefault(group_of(version), [])
    return _Kinds(served, former, {group: tuple(versions) for group, versions in groups.items()})


def _by_preference(versions: Iterable[str]) -> list[str]:
    """Return versions, the preferred ones first: stable before beta and alpha, late before early."""
    return sorted(sorted(versions, reverse=True), key=lambda each: ("alpha" in each, "beta" in each))


def group_of(version: str) -> str:
    """Return the group of an ``apiVersion``; empty for ``v1``."""
    return version.split("/", maxsplit=1)[0] if "/" in version else ""


def is_own_group(group: str) -> bool:
    """Return whether *group* is one that the API server serves or served itself."""
    return group in _kinds().groups


def is_served(version: str, kind: str) -> bool:
    """Return whether the API server serves *kind* in *version*."""
    return kind in _kinds().served.get(version, ())


def former(version: str, kind: str) -> Former | None:
    """Return what became of a kind that was served in *version* once; ``None`` if it never was, or is."""
    return _kinds().former.get(version, {}).get(kind)


def is_own_kind(kind: str) -> bool:
    """Return whether the API server serves *kind* in any version."""
    return any(kind in kinds for kinds in _kinds().served.values())


def near_kind(kind: str) -> str:
    """Return the question after a kind of the API server that is written like *kind*; empty if none is."""
    return meant(kind, tuple(dict.fromkeys(each for kinds in _kinds().served.values() for each in kinds)))


def former_problem(version: str, kind: str, became: Former) -> InputError:
    """Return the error for a kind that is no longer served in *version*."""
    since = f"Kubernetes {became.since} and later do" if became.since else "Kubernetes does"
    fix = f"write {became.successor}" if became.successor else "remove it; nothing took its place"
    return InputError("apiVersion", f"{since} not serve {kind} in {version}", fix)


def mistake(version: str, kind: str, preferred: Iterable[str] = ()) -> InputError:
    """Return the error for a kind that was never served in *version*, which is of a group of the API server.

    *preferred*: versions to name first if several groups have the kind.
    """
    problem = f"Kubernetes has no {kind} in {version or 'an empty apiVersion'}"
    kinds, group = _kinds(), group_of(version)
    own = [each for each in kinds.groups[group] if kind in kinds.served[each]]
    others = [each for each in (*preferred, *_by_preference(kinds.served)) if is_served(each, kind)]
    if own or others:
        return InputError("apiVersion", problem, f"write {(own or others)[0]}")
    in_group = tuple(dict.fromkeys(each for found in kinds.groups[group] for each in kinds.served[found]))
    fix = meant(kind, in_group) or near_kind(kind)
    if not fix:
        fix = f"it has {', '.join(in_group)}" if in_group else "the group is not served any more"
    return InputError("kind", problem, fix)


def near_version(version: str, kind: str) -> str:
    """Return the question after the version that is meant by one of a group that Kubernetes does not have.

    A group is near if it differs in one letter, or if it has *kind* and differs in its domain alone. Empty if
    none is near.
    """
    group, kinds = group_of(version), _kinds()
    for other, versions in kinds.groups.items():
        has_kind = [each for each in versions if kind in kinds.served[each]]
        is_domain = group.removesuffix(_DOMAIN) == other.split(".", maxsplit=1)[0] and bool(other)
        is_core = not other and group in _NAMES_OF_CORE
        if versions and ((has_kind and (is_domain or is_core)) or (other and _differ_in_one(group, other))):
            return did_you_mean((has_kind or versions)[0])
    return ""


def _differ_in_one(one: str, other: str) -> bool:
    """Return whether one letter is added, left out or replaced, two changed places, or the case differs."""
    one, other = one.lower(), other.lower()
    if abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, others = one[start:], other[start:]
    swapped = len(rest) > 1 and rest[1::-1] == others[:2] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]
