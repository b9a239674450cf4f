"""Applies the operations of an explanation to manifests, as a program would."""

from __future__ import annotations

import copy
from typing import Any

from .manifests import Manifest


def applied(manifests: list[Manifest], operations: list[dict[str, Any]]) -> list[Manifest]:
    """Return copies of *manifests* after *operations*."""
    result = copy.deepcopy(manifests)
    for each in operations:
        if each["action"] == "create":
            result.append(each["manifest"])
            continue
        (target,) = (manifest for manifest in result if _is(manifest, each))
        if each["action"] == "delete":
            result.remove(target)
        else:
            assert each["action"] in ("patch", "replace")
            for operation in each["patch"]:
                _apply(target, operation)
    return result


def _is(manifest: Manifest, operation: dict[str, Any]) -> bool:
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace", "default")
    return (manifest["kind"], metadata["name"]) == (operation["kind"], operation["name"]) and (
        operation.get("namespace", namespace) == namespace
    )


def _apply(document: Any, operation: dict[str, Any]) -> None:
    """Carry out one operation of RFC 6902; errors for a path that is not there."""
    assert set(operation) <= {"op", "path", "value"}
    *parents, last = (step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:])
    for step in parents:
        document = document[int(step)] if isinstance(document, list) else document[step]
    key: Any = int(last) if isinstance(document, list) else last
    if operation["op"] == "remove":
        del document[key]
    elif operation["op"] == "replace":
        assert isinstance(document, list) or key in document
        document[key] = operation["value"]
    elif isinstance(document, list):
        assert operation["op"] == "add"
        assert key <= len(document)
        document.insert(key, operation["value"])
    else:
        document[key] = operation["value"]
