"""Extenders of a policy: the fields of the configuration of today, in its spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedframe.api.codec import json_names
from schedframe.config.model import Extender, ExtenderManagedResource, ExtenderTLSConfig

VERSION: Final = "apiVersion"
"""A field of the examples of early versions, which never had an effect."""
_NESTED: Final = {"tlsConfig": ExtenderTLSConfig, "managedResources": ExtenderManagedResource}


def extender(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an extender of a policy as one of the configuration of today.

    Up to v1.10 names of fields could be in any case; a timeout is a number of nanoseconds in a policy. The
    version is left out. Other unknown fields stay as they are, for validation to name them.
    """
    extender = _renamed(given, Extender)
    extender.pop(VERSION, None)
    timeout = extender.get("httpTimeout")
    if isinstance(timeout, int):
        extender["httpTimeout"] = f"{timeout}ns"
    for name, cls in _NESTED.items():
        value = extender.get(name)
        if isinstance(value, Mapping):
            extender[name] = _renamed(value, cls)
        elif isinstance(value, list):
            extender[name] = [_renamed(each, cls) if isinstance(each, Mapping) else each for each in value]
    return extender


def _renamed(given: Mapping[str, Any], cls: type) -> dict[str, Any]:
    """Return *given* with its keys spelled as the fields of *cls*."""
    spelling = {name.lower(): name for name in json_names(cls).values()}
    return {spelling.get(key.lower(), key): value for key, value in given.items()}
