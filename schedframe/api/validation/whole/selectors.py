"""Conditions of selectors: how many values an operator takes, and which values.

Source of the rules: ``ValidateNodeSelector``, ``ValidatePreferredSchedulingTerms`` of
pkg/apis/core/validation and ``ValidateLabelSelectorRequirement`` of k8s.io/apimachinery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_value, check_name
from .reading import is_left_out, mapping, objects, sequence, text, texts

_LISTED: Final = ("In", "NotIn")
_UNLISTED: Final = ("Exists", "DoesNotExist")
_COMPARED: Final = ("Gt", "Lt")
_NODE_FIELD: Final = "metadata.name"


def check_label_requirement(requirement: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of an expression of a label selector."""
    if (error := _count_problem(requirement)) is not None:
        yield error


def check_node_selector(selector: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a node selector that must match."""
    for path, term in objects(selector, "nodeSelectorTerms"):
        for error in check_node_term(term, is_required=True):
            yield error.at(path)


def check_preferred_term(term: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a preference among nodes."""
    for error in check_node_term(mapping(term, "preference"), is_required=False):
        yield error.at("preference")


def check_node_term(term: Mapping[str, Any], *, is_required: bool) -> Iterator[InputError]:
    """Yield the errors of a term of a node selector.

    A preference may name values that no label has: the API server takes them, and they match nothing.
    """
    for path, requirement in objects(term, "matchExpressions"):
        if (error := _count_problem(requirement)) is not None:
            yield error.at(path)
        for value_path, value in texts(requirement, "values") if is_required else ():
            if (error := check_label_value(value)) is not None:
                yield error.at(value_path).at(path)
    for path, requirement in objects(term, "matchFields"):
        for error in _field_problems(requirement):
            yield error.at(path)


def _count_problem(requirement: Mapping[str, Any]) -> InputError | None:
    """Return the error if an operator has too many or too few values."""
    operator, values = text(requirement, "operator"), requirement.get("values")
    if values is not None and not isinstance(values, list | tuple):
        return None
    count = len(values or ())
    if operator in _LISTED and not count:
        return InputError("values", f"{operator} needs values, and there are none", "list at least one value")
    if operator in _UNLISTED and count:
        problem = f"{operator} takes no values, and there {_of_values(count)}"
        return InputError("values", problem, "leave them out, or write In or NotIn")
    if operator in _COMPARED and count != 1:
        problem = f"{operator} takes one value, and there {_of_values(count)}"
        return InputError("values", problem, "list one whole number")
    return None


def _field_problems(requirement: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a condition on a field of nodes: the name is the only field."""
    operator, key = text(requirement, "operator"), text(requirement, "key")
    if operator in _LISTED:
        values = requirement.get("values")
        if is_left_out(requirement, "values") or (isinstance(values, list | tuple) and len(values) != 1):
            problem = f"a field takes one value, and there {_of_values(len(sequence(requirement, 'values')))}"
            yield InputError("values", problem, "write a term for each name")
    elif operator:
        problem = f"{described(operator)} does not go with fields"
        yield InputError("operator", problem, "write In or NotIn, or use matchExpressions")
    if key == _NODE_FIELD:
        for path, value in texts(requirement, "values"):
            if (error := check_name(value, label=False)) is not None:
                yield error.at(path)
    elif key:
        problem = f"{described(key)} is no field that nodes are selected by"
        yield InputError("key", problem, f"write {_NODE_FIELD}, or use matchExpressions for labels")


def _of_values(count: int) -> str:
    return "are none" if not count else "is one" if count == 1 else f"are {count}"
