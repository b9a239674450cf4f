"""Rejections whose reason has names in it: pods that are rejected alike can be counted together."""

from __future__ import annotations

from typing import Final

from schedframe import Status

LOOKING_UP: Final = 'looking up PVC {}: persistentvolumeclaim "{}" not found'
_ANY_NAME: Final = "…"


def rejection(template: str, *names: str) -> Status:
    """Return the rejection, which no eviction ends, for the reason *template* with *names* in its ``{}``.

    ``details`` have the names, and as ``alike`` the reason without them.
    """
    reason, alike = template.format(*names), template.format(*[_ANY_NAME] * len(names))
    return Status.unresolvable(reason, details={reason: {"alike": alike, "names": list(names)}})


def missing(kind: str, name: str) -> Status:
    """Return the rejection for a missing object: ``persistentvolumeclaim "data" not found``."""
    return rejection(f'{kind.lower()} "{{}}" not found', name)
