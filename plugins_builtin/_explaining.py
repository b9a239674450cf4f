"""Texts that explanations of several plugins share: pods, labels that are required, words that were meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from schedframe import Node, NodeTable, Pod
from schedframe.api import DOES_NOT_EXIST, EXISTS, CompiledNodeSelector, Requirement

_SIMILARITY: Final = 0.6
"""Least ratio of ``difflib`` of two words of which one may be meant by the other."""
_SHOWN_VALUES: Final = 5
"""Values of a label in a text."""


def pod_text(pod: Pod) -> str:
    """Return ``default/web on n1``."""
    return f"{pod.key} on {pod.node_name}" if pod.node_name else f"{pod.key}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean fast-ssd?`` with a similar one of the *known* words; empty if there is none."""
    close = get_close_matches(word, list(dict.fromkeys(known)), n=1, cutoff=_SIMILARITY)
    return f"; did you mean {close[0]}?" if close else ""


def requirements_text(requirements: Iterable[Requirement]) -> str:
    """Return requirements in the notation of kubectl, in a fixed order."""
    ordered = sorted(requirements, key=lambda each: (each.key, each.operator, sorted(each.values)))
    return ",".join(map(_requirement_text, ordered))


def _requirement_text(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values)) or str(requirement.number)
    if requirement.operator == EXISTS:
        return key
    if requirement.operator == DOES_NOT_EXIST:
        return f"!{key}"
    if requirement.operator == "In" and len(requirement.values) == 1:
        return f"{key}={values}"
    return f"{key} {requirement.operator.lower()} ({values})"


def node_selector_text(selector: CompiledNodeSelector) -> str:
    """Return the labels that *selector* asks of a node: ``zone=a``, or ``zone=a or zone=b``."""
    return " or ".join(requirements_text(term.labels) for term in selector.terms) or "no node at all"


def node_labels_text(selector: CompiledNodeSelector, labels: Mapping[str, str]) -> str:
    """Return what a node with these *labels* has of those that *selector* asks for."""
    return ", ".join(
        f"{key}={labels[key]}" if key in labels else f"no label {key}" for key in _keys(selector)
    )


def absent_values_text(selector: CompiledNodeSelector, table: NodeTable) -> str:
    """Return the values that nodes have of a label of *selector*, if no node has one that is asked for.

    Empty if some node satisfies each of its requirements. O(nodes) for each label.
    """
    nodes = [node for node in map(table.node_at, table.rows().positions.tolist()) if node is not None]
    for term in selector.terms if nodes else ():
        for requirement in term.labels:
            if not any(requirement.matches_value(node.labels.get(requirement.key)) for node in nodes):
                return _absent_text(requirement, nodes)
    return ""


def _absent_text(requirement: Requirement, nodes: list[Node]) -> str:
    key = requirement.key
    present = sorted({node.labels[key] for node in nodes if key in node.labels})
    if not present:
        meant = did_you_mean(key, (each for node in nodes for each in node.labels))
        return f"no node has the label {key}{meant}"
    meant = next(filter(None, (did_you_mean(each, present) for each in sorted(requirement.values))), "")
    shown = ", ".join(present[:_SHOWN_VALUES])
    more = f" and {len(present) - _SHOWN_VALUES} more" if len(present) > _SHOWN_VALUES else ""
    return f"no node has {requirements_text((requirement,))}, nodes have {shown}{more}{meant}"


def _keys(selector: CompiledNodeSelector) -> list[str]:
    return sorted({each.key for term in selector.terms for each in term.labels})
