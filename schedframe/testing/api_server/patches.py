"""Patches of objects: JSON merge patches, and strategic ones, which merge lists by the key of their items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .refusals import Refusal

Obj = dict[str, Any]

MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"

MERGE_KEYS: Final[Mapping[str, str]] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "taints": "key",
    "topologySpreadConstraints": "topologyKey",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Field → the key by which strategic patches match items of its list; other lists are replaced."""
_UNITED: Final = frozenset({"finalizers"})
"""Lists of plain values to which strategic patches add."""
_DIRECTIVES: Final = ("$setElementOrder/", "$retainKeys", "$deleteFromPrimitiveList/")


def check_form(content_type: str, *, is_custom: bool) -> None:
    """Raise :class:`Refusal` (415) for a form of patches that is not served."""
    if content_type == MERGE_PATCH or (content_type == STRATEGIC_PATCH and not is_custom):
        return
    raise Refusal(415, f"the body of the request was in an unknown format: {content_type or 'none'}")


def patched(obj: Obj, patch: Any, content_type: str) -> Obj:
    """Return *obj* after *patch*. Raises :class:`Refusal` for what is no patch."""
    if not isinstance(patch, dict):
        raise Refusal(400, "the patch is no object")
    if content_type == MERGE_PATCH:
        merged: Obj = _merged(obj, patch)
        return merged
    return _strategic(obj, patch)


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def _strategic(target: Obj, patch: Obj) -> Obj:
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    result = dict(target)
    for key, value in patch.items():
        if key == "$patch" or key.startswith(_DIRECTIVES):
            continue
        present = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _strategic(present if isinstance(present, dict) else {}, value)
        elif isinstance(value, list) and key in MERGE_KEYS:
            result[key] = _merged_items(present or [], value, MERGE_KEYS[key])
        elif isinstance(value, list) and key in _UNITED:
            result[key] = [*(present or []), *(item for item in value if item not in (present or []))]
        else:
            result[key] = value
    return result


def _merged_items(present: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = list(present)
    for item in patch:
        index = _index_of(result, merge_key, item.get(merge_key))
        if item.get("$patch") == "delete":
            if index is not None:
                del result[index]
        elif index is None:
            result.append(_strategic({}, item))
        else:
            result[index] = _strategic(result[index], item)
    return result


def _index_of(items: list[Any], merge_key: str, value: Any) -> int | None:
    return next((index for index, item in enumerate(items) if item.get(merge_key) == value), None)
