"""Node selectors and node affinity, compiled once for many matches.

Source of the rules: k8s.io/component-helpers/scheduling/corev1/nodeaffinity. A term that cannot be parsed
matches no node; its error is kept and counts only if no other term matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from attrs import field

from .._base.value import value
from .._base.wording import described
from ..errors import InputError
from .affinity import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from .labelselectors import EVERYTHING, CompiledSelector, compile_label_map
from .requirements import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NODE_OPERATORS,
    NOT_IN,
    Requirement,
    label_key_problem,
    label_value_problem,
    parse_integer,
)

if TYPE_CHECKING:
    from .node import Node
    from .podspec import PodSpec

Labels = Mapping[str, str]

INVALID: Final = "FieldValueInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FIELD_NAME: Final = "metadata.name"
"""The only field that ``match_fields`` supports."""


class SelectorError(InputError):
    """A selector that the reference cannot parse. ``type`` and ``detail`` are those of its field errors."""

    def __init__(self, path: str, type: str, value: Any, detail: str) -> None:
        self.type = type
        self.value = value
        self.detail = detail
        word = "Unsupported value" if type == NOT_SUPPORTED else "Invalid value"
        super().__init__(path, f"{word}: {_quoted(value)}: {detail}")


def _quoted(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(_quoted, value))}]" if value else "null"


@value(weakref_slot=False)
class CompiledNodeTerm:
    """A term with expressions, all of which must hold.

    ``errors``: why it cannot be parsed; such a term matches no node.
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    errors: tuple[SelectorError, ...] = field(default=(), eq=False)

    def matches(self, labels: Labels, name: str) -> bool:
        """Return whether a node with these *labels* and this *name* satisfies the term; O(expressions)."""
        if self.errors:
            return False
        for requirement in self.labels:
            if not requirement.matches_value(labels.get(requirement.key)):
                return False
        # a node without a name has no fields to compare
        return not name or all(
            each.matches_value(name if each.key == FIELD_NAME else "") for each in self.fields
        )


@value(weakref_slot=False)
class CompiledNodeSelector:
    """One of ``terms`` must match. Empty terms, which match no node, are left out."""

    terms: tuple[CompiledNodeTerm, ...] = ()

    @property
    def errors(self) -> tuple[SelectorError, ...]:
        """The errors of all terms. They count for a node that no term matches."""
        return tuple(error for term in self.terms for error in term.errors)

    @property
    def error(self) -> str:
        """The message of :attr:`errors` in the words of the reference, empty without errors."""
        return join_errors(self.errors)

    def matches(self, node: Node) -> bool:
        """Return whether a term matches *node*. Terms that cannot be parsed do not."""
        return self.matches_labels(node.labels, node.name)

    def matches_labels(self, labels: Labels, name: str) -> bool:
        """As :meth:`matches`, by labels and name of a node."""
        return any(term.matches(labels, name) for term in self.terms)


def join_errors(errors: Sequence[InputError]) -> str:
    """Return one message for several errors; equal errors appear once."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


@lru_cache(maxsize=8192)
def compile_node_selector(selector: NodeSelector) -> CompiledNodeSelector:
    """Return the compiled form, cached by value. A selector never raises, see
    :attr:`CompiledNodeSelector.errors`.
    """
    return CompiledNodeSelector(
        tuple(
            _compile_term(term, f"nodeSelectorTerms[{index}]")
            for index, term in enumerate(selector.terms)
            if not _is_empty(term)
        )
    )


def node_selector_matches(selector: NodeSelector, node: Node) -> bool:
    """Return whether *node* satisfies *selector*. Compile a selector for many matches."""
    return compile_node_selector(selector).matches(node)


@value(weakref_slot=False)
class CompiledPreferredTerms:
    """Preferred terms that can add to a score: those with a weight and an expression."""

    terms: tuple[tuple[int, CompiledNodeTerm], ...] = ()

    @property
    def errors(self) -> tuple[SelectorError, ...]:
        """The errors of all terms. If there are any, scoring fails in the reference."""
        return tuple(error for _, term in self.terms for error in term.errors)

    @property
    def error(self) -> str:
        """The message of :attr:`errors`, empty without errors."""
        return join_errors(self.errors)

    def score(self, node: Node) -> int:
        """Return the sum of the weights of the terms that match *node*."""
        labels, name = node.labels, node.name
        return sum(weight for weight, term in self.terms if term.matches(labels, name))


@lru_cache(maxsize=8192)
def compile_preferred_terms(terms: tuple[PreferredSchedulingTerm, ...]) -> CompiledPreferredTerms:
    """Return the compiled form, cached by value. Never raises: see :attr:`CompiledPreferredTerms.errors`."""
    return CompiledPreferredTerms(
        tuple(
            (term.weight, _compile_term(term.preference, f"[{index}]"))
            for index, term in enumerate(terms)
            if term.weight and not _is_empty(term.preference)
        )
    )


@value(weakref_slot=False)
class RequiredNodeAffinity:
    """The nodes on which a pod may run: ``spec.node_selector`` and the required node affinity."""

    labels: CompiledSelector = EVERYTHING
    selector: CompiledNodeSelector | None = None

    @property
    def error(self) -> str:
        """The error of an affinity that cannot be parsed; counts where the labels match and no term does."""
        return self.selector.error if self.selector is not None else ""

    def matches(self, node: Node) -> bool:
        """Return whether the pod may run on *node*."""
        if not self.labels.matches(node.labels):
            return False
        return self.selector is None or self.selector.matches(node)


_REQUIRED: Final = object()  # key in PodSpec.memo


def required_node_affinity(spec: PodSpec) -> RequiredNodeAffinity:
    """Return the compiled requirements of *spec*, cached in its memo."""
    try:
        memo = spec.memo
    except AttributeError:
        problem = f"{described(spec)} is not a PodSpec"
        raise InputError("spec", problem, "give the spec of a pod, pod.spec") from None
    compiled: RequiredNodeAffinity | None = memo.get(_REQUIRED)
    if compiled is None:
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        required = affinity.required if affinity is not None else None
        compiled = memo[_REQUIRED] = RequiredNodeAffinity(
            compile_label_map(spec.node_selector),
            None if required is None else compile_node_selector(required),
        )
    return compiled


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _compile_term(term: NodeSelectorTerm, path: str) -> CompiledNodeTerm:
    errors = [
        *_all_problems(term.match_expressions, f"{path}.matchExpressions", _label_problems),
        *_all_problems(term.match_fields, f"{path}.matchFields", _field_problems),
    ]
    if errors:
        return CompiledNodeTerm(errors=tuple(errors))
    return CompiledNodeTerm(
        tuple(map(_compile, term.match_expressions)), tuple(map(_compile, term.match_fields))
    )


def _compile(expression: NodeSelectorRequirement) -> Requirement:
    if expression.operator in (GT, LT):
        return Requirement(expression.key, expression.operator, (), parse_integer(expression.values[0]) or 0)
    return Requirement(expression.key, expression.operator, expression.values)


def _all_problems(
    expressions: Iterable[NodeSelectorRequirement], path: str, problems_of: Any
) -> Iterator[SelectorError]:
    for index, expression in enumerate(expressions):
        yield from problems_of(expression, f"{path}[{index}]")


def _label_problems(expression: NodeSelectorRequirement, path: str) -> Iterator[SelectorError]:
    """Return the errors of the reference's parser for an expression over labels."""
    operator, values = expression.operator, expression.values
    if operator not in NODE_OPERATORS:
        yield SelectorError(f"{path}.operator", NOT_SUPPORTED, operator, _supported(NODE_OPERATORS))
        return
    if problem := label_key_problem(expression.key):
        yield SelectorError(f"{path}.key", INVALID, expression.key, problem)
    if operator in (IN, NOT_IN) and not values:
        yield SelectorError(
            f"{path}.values", INVALID, values, "for 'in', 'notin' operators, values set can't be empty"
        )
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        detail = "values set must be empty for exists and does not exist"
        yield SelectorError(f"{path}.values", INVALID, values, detail)
    if operator in (GT, LT):
        yield from _number_problems(values, path)
    for index, text in enumerate(values):
        if problem := label_value_problem(text):
            yield SelectorError(f"{path}.values[{index}][{expression.key}]", INVALID, text, problem)


def _number_problems(values: Sequence[str], path: str) -> Iterator[SelectorError]:
    if len(values) != 1:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        yield SelectorError(f"{path}.values", INVALID, values, detail)
    for index, text in enumerate(values):
        if parse_integer(text) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield SelectorError(f"{path}.values[{index}]", INVALID, text, detail)


def _field_problems(expression: NodeSelectorRequirement, path: str) -> Iterator[SelectorError]:
    """Return the errors of the reference's parser for an expression over fields."""
    if expression.operator not in (IN, NOT_IN):
        yield SelectorError(f"{path}.operator", NOT_SUPPORTED, expression.operator, _supported((IN, NOT_IN)))
    elif len(expression.values) != 1:
        yield SelectorError(f"{path}.values", INVALID, expression.values, "must have one element")


def _supported(operators: Iterable[str]) -> str:
    return "supported values: " + ", ".join(f'"{operator}"' for operator in operators)
