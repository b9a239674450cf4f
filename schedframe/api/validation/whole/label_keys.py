"""``matchLabelKeys`` and ``mismatchLabelKeys`` of spread constraints and of terms of pod affinity.

The API server adds an expression to the selector for each of these keys that the pod has as a label, and then
validates. An expression that is equal to the one that would be added counts as the added one: manifests
that a cluster has written have it. Source of the rules: ``ValidateMatchLabelKeysAndMismatchLabelKeys`` of
pkg/apis/core/validation, and the functions of pkg/registry/core/pod that add expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_key
from .reading import is_left_out, mapping, objects, text, texts

_OPERATORS: Final = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}


def check_label_keys(term: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the keys that do not depend on the pod."""
    for name in _OPERATORS:
        if not term.get(name):
            continue
        if is_left_out(term, "labelSelector"):
            fix = "write a labelSelector, or leave the keys out"
            yield InputError(name, "there is no labelSelector that they could be added to", fix)
            continue
        for path, key in texts(term, name):
            if (error := check_label_key(key, may_be_empty=False)) is not None:
                yield error.at(path)
    mismatched = {key for _, key in texts(term, "mismatchLabelKeys")}
    for path, key in texts(term, "matchLabelKeys") if mismatched else ():
        if key in mismatched:
            yield InputError(
                path, f"{described(key)} is among mismatchLabelKeys, too", "remove one of the two"
            )


def keys_selected_twice(term: Mapping[str, Any], labels: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield an error for each of ``matchLabelKeys`` that the selector has, too.

    *labels* are those of the pod; a template has none that count. The API server names the index of the key
    behind the term, without the field: ``topologySpreadConstraints[0][1]``.
    """
    indices = {key: index for index, (_, key) in enumerate(texts(term, "matchLabelKeys"))}
    if not indices or is_left_out(term, "labelSelector"):
        return
    selector = mapping(term, "labelSelector")
    seen = {key for key in mapping(selector, "matchLabels") if isinstance(key, str)}
    for key in _expression_keys(term, selector, labels):
        if key in indices and key in seen:
            problem = f"{described(key)} of matchLabelKeys is in the labelSelector, too"
            yield InputError(f"[{indices[key]}]", problem, "remove one of the two")
        seen.add(key)


def _expression_keys(
    term: Mapping[str, Any], selector: Mapping[str, Any], labels: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the keys of the expressions that the selector has after the API server added to it."""
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in _OPERATORS.items()
        for _, key in texts(term, name)
        if isinstance(labels.get(key), str)
    ]
    for _, expression in objects(selector, "matchExpressions"):
        if expression in added:
            added.remove(dict(expression))
        yield text(expression, "key")
    yield from (str(each["key"]) for each in added)
