"""Selectors of workloads, beside the labels of their templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...._base.wording import described
from ....errors import InputError
from ...affinity import LabelSelector
from ...codec import decoder
from ...labelselectors import compile_label_selector
from .reading import is_left_out, mapping

_TEMPLATE = "template.metadata.labels"


def selector_problems(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of an empty selector, or of one that does not match the template of *spec*."""
    selector = spec.get("selector")
    if not isinstance(selector, Mapping):
        return
    if is_empty(selector):
        problem = "it selects all pods"
        yield InputError("selector", problem, "write the labels of the template under matchLabels")
    elif not is_left_out(spec, "template"):
        yield from match_problems(selector, mapping(spec, "template"))


def is_empty(selector: Mapping[str, Any]) -> bool:
    """Return whether a selector matches everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def match_problems(selector: Mapping[str, Any], template: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of a selector that does not match the labels of *template*."""
    labels = mapping(mapping(template, "metadata"), "labels")
    if matches(selector, labels) is False:
        found = ", ".join(f"{key}={value}" for key, value in labels.items()) or "no labels"
        problem = f"the selector does not match the labels of the template, {described(found)}"
        yield InputError(_TEMPLATE, problem, "write the labels that the selector names")


def matches(selector: Mapping[str, Any], labels: Mapping[Any, Any]) -> bool | None:
    """Return whether *selector* matches *labels*, ``None`` if it is no selector."""
    try:
        compiled = compile_label_selector(decoder(LabelSelector)(selector))
    except InputError:
        return None
    return compiled.matches({key: value for key, value in labels.items() if isinstance(value, str)})
