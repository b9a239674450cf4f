"""Spread constraints and terms of pod affinity: which members of one go together.

Source of the rules: ``validateTopologySpreadConstraints`` and ``validatePodAffinityTerm`` of
pkg/apis/core/validation. The paths are those that the API server names, also where they are odd: it names
``namespace`` for an item of ``namespaces``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....errors import InputError
from ..rules import check_name
from .label_keys import check_label_keys
from .reading import is_left_out, text, texts


def check_spread_constraint(constraint: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a spread constraint."""
    action = text(constraint, "whenUnsatisfiable")
    if not is_left_out(constraint, "minDomains") and action != "DoNotSchedule":
        problem = f"minDomains need DoNotSchedule, and there is {action or 'no whenUnsatisfiable'}"
        fix = "write whenUnsatisfiable: DoNotSchedule, or leave minDomains out"
        yield InputError("minDomains", problem, fix)
    yield from check_label_keys(constraint)


def check_affinity_term(term: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a term of pod affinity or anti-affinity."""
    for _, name in texts(term, "namespaces"):
        if (error := check_name(name, label=True)) is not None:
            yield error.at("namespace")
    yield from check_label_keys(term)
