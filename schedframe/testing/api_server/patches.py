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
_ORDER: Final = "$setElementOrder/"
_DIRECTIVES: Final = (_ORDER, "$retainKeys", "$deleteFromPrimitiveList/")


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
            merge_key = MERGE_KEYS[key]
            items = _merged_items(present or [], value, merge_key)
            keys = [each[merge_key] for each in patch.get(_ORDER + key) or value]
            result[key] = _ordered(items, merge_key, keys, [each[merge_key] for each in present or []])
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


def _ordered(items: list[Any], merge_key: str, given: list[Any], before: list[Any]) -> list[Any]:
    """Return the items of the patch in the order *given*, and the others among them as they were *before*.

    An item of the patch that is new has no place among the others: it comes before those that follow.
    """

    def precedes(one: Any, other: Any) -> bool:
        return one in before and other in before and before.index(one) < before.index(other)

    of_patch = [item for item in items if item[merge_key] in given]
    result = sorted(of_patch, key=lambda item: given.index(item[merge_key]))
    place = 0
    for item in items:
        if item[merge_key] in given:
            continue
        while place < len(result) and not precedes(item[merge_key], result[place][merge_key]):
            place += 1
        result.insert(place, item)
        place += 1
    return result


def _index_of(items: list[Any], merge_key: str, value: Any) -> int | None:
    return next((index for index, item in enumerate(items) if item.get(merge_key) == value), None)
