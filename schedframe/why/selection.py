"""Labels that a pod requires of its node and that no node has, with the values that exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final

from .._base.value import record
from ..api import (
    IN,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    compile_node_selector,
)

_SHOWN_VALUES: Final = 5
"""Values of a label in a text."""
_SIMILARITY: Final = 0.7
"""Least ratio of ``difflib`` of two words of which one may be meant by the other."""


@record(frozen=True, eq=False)
class MissingLabel:
    """An expression of the pod that no node satisfies."""

    expression: NodeSelectorRequirement
    in_selector: bool
    """Whether it is an entry of ``spec.nodeSelector``, and not an expression of the node affinity."""
    values: dict[str, int]
    """Value of the label → number of nodes that have it, most frequent first."""
    meant_key: str = ""
    """A similar key that nodes have, empty if there is none."""
    meant_value: str = ""
    """A similar value that nodes have, empty if there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the expression and the values in plain types."""
        return {
            "key": self.expression.key,
            "operator": self.expression.operator,
            "values": list(self.expression.values),
            "existing_values": self.values,
            "did_you_mean": self.meant_key or self.meant_value or None,
        }

    def __str__(self) -> str:
        key = self.expression.key
        meant = self.meant_key or self.meant_value
        question = f"; did you mean {meant}?" if meant else ""
        if not self.values:
            return f"no node has the label {key}{question}"
        shown = [f"{value} ({_nodes(count)})" for value, count in list(self.values.items())[:_SHOWN_VALUES]]
        if len(self.values) > _SHOWN_VALUES:
            shown.append(f"{len(self.values) - _SHOWN_VALUES} more")
        return f"no node has {expression_text(self.expression)}; {key} is {', '.join(shown)}{question}"


@record(frozen=True, eq=False)
class LabelConflict:
    """Expressions that nodes satisfy, but no node all of them."""

    counts: dict[str, int]
    """Expression → number of nodes that satisfy it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the counts in plain types."""
        return {"conflict": self.counts}

    def __str__(self) -> str:
        parts = ", ".join(f"{text} ({_nodes(count)})" for text, count in self.counts.items())
        return f"no node has all of {parts}"


def missing_labels(pod: Pod, nodes: Sequence[Node]) -> list[MissingLabel | LabelConflict]:
    """Return what no node satisfies of the node selector and the required node affinity.

    If each expression is satisfied by some node, and the pod has one list of expressions, the conflict among
    them. O(nodes × expressions).
    """
    if not nodes:
        return []
    selector = [NodeSelectorRequirement(key, IN, (value,)) for key, value in pod.spec.node_selector.items()]
    terms = [term.match_expressions for term in _required_terms(pod)]
    found: list[MissingLabel | LabelConflict] = [
        _missing(each, each in selector, nodes)
        for each in dict.fromkeys([*selector, *(each for term in terms for each in term)])
        if not any(satisfies(node, each) for node in nodes)
    ]
    if found or len(terms) > 1:
        return found
    every = [*selector, *(each for term in terms for each in term)]
    if len(every) > 1 and not any(all(satisfies(node, each) for each in every) for node in nodes):
        counts = {expression_text(each): sum(satisfies(node, each) for node in nodes) for each in every}
        found.append(LabelConflict(counts))
    return found


def satisfies(node: Node, expression: NodeSelectorRequirement) -> bool:
    """Return whether the labels of *node* satisfy *expression*."""
    return compile_node_selector(NodeSelector((NodeSelectorTerm((expression,)),))).matches(node)


def expression_text(expression: NodeSelectorRequirement) -> str:
    """Return ``disk=ssd``, ``disk in (ssd, nvme)`` or ``cores Gt 4``."""
    if expression.operator == IN and len(expression.values) == 1:
        return f"{expression.key}={expression.values[0]}"
    values = f" ({', '.join(expression.values)})" if expression.values else ""
    return f"{expression.key} {'in' if expression.operator == IN else expression.operator}{values}"


def _required_terms(pod: Pod) -> Iterator[NodeSelectorTerm]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if affinity is not None and affinity.required is not None:
        yield from affinity.required.terms


def _missing(expression: NodeSelectorRequirement, in_selector: bool, nodes: Sequence[Node]) -> MissingLabel:
    key = expression.key
    counted = Counter(node.labels[key] for node in nodes if key in node.labels)
    values = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
    if values:
        meant = next((similar(value, values) for value in expression.values), "")
        return MissingLabel(expression, in_selector, values, meant_value=meant)
    keys = dict.fromkeys(each for node in nodes for each in node.labels)
    return MissingLabel(expression, in_selector, values, meant_key=similar(key, keys))


def similar(word: str, known: Iterable[str]) -> str:
    """Return the one of the *known* words that may be meant by *word*, empty if none is similar."""
    known = list(known)
    return next(iter(get_close_matches(word, known, n=1, cutoff=_SIMILARITY)), "")


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"
