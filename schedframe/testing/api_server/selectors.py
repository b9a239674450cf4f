"""Field and label selectors of lists and watches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .refusals import Refusal

Matcher = Callable[[Mapping[str, Any]], bool]
"""Whether an object, as a manifest, is selected."""

FIELDS: Final = frozenset(
    {"metadata.name", "metadata.namespace", "spec.nodeName", "spec.schedulerName", "status.phase"}
)
"""Fields that selectors may name here; an API server has a list for each kind."""

_TERM = re.compile(r"\s*([^=!\s]+)\s*(==|=|!=)\s*(.*?)\s*")
_SET = re.compile(r"\s*(\S+)\s+(in|notin)\s*\(([^)]*)\)\s*")
_BETWEEN_TERMS = re.compile(r",(?![^(]*\))")


def field_matcher(selector: str) -> Matcher:
    """Return what a field selector selects. Raises :class:`Refusal` for one that cannot be read."""
    terms = [_field_term(term) for term in selector.split(",") if term.strip()]
    return lambda obj: all((_field(obj, path) == value) is equal for path, equal, value in terms)


def _field_term(term: str) -> tuple[str, bool, str]:
    parts = _TERM.fullmatch(term)
    if parts is None:
        raise Refusal(400, f"invalid field selector {term!r}")
    path, operator, value = parts.groups()
    if path not in FIELDS:
        raise Refusal(400, f"field label not supported: {path}")
    return path, operator != "!=", value


def _field(obj: Mapping[str, Any], path: str) -> str:
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def label_matcher(selector: str) -> Matcher:
    """Return what a label selector selects. Raises :class:`Refusal` for one that cannot be read."""
    terms = [_label_term(term) for term in _BETWEEN_TERMS.split(selector) if term.strip()]

    def matches(obj: Mapping[str, Any]) -> bool:
        labels = (obj.get("metadata") or {}).get("labels") or {}
        return all(term(labels) for term in terms)

    return matches


def _label_term(term: str) -> Matcher:
    if parts := _SET.fullmatch(term):
        key, operator, listed = parts.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if parts := _TERM.fullmatch(term):
        key, operator, value = parts.groups()
        return lambda labels: (labels.get(key) == value) is (operator != "!=")
    name = term.strip()
    if name.startswith("!"):
        return lambda labels: name[1:] not in labels
    if " " in name:
        raise Refusal(400, f"invalid label selector {term!r}")
    return lambda labels: name in labels
