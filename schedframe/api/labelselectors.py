"""Label selectors, compiled once for many matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from .._base.brief import brief_of
from .._base.checked import check_arguments, checked
from ..errors import InputError
from ._wire import DEFAULT_NAMESPACE
from .affinity import LabelSelector, PodAffinityTerm
from .requirements import IN, Requirement

Labels = Mapping[str, str]


@checked
class CompiledSelector:
    """A compiled selector. Selectors with the same requirements in any order are equal.

    ``matches(labels)`` returns whether labels satisfy it, O(requirements). ``requirements`` is ``None`` for
    the selector that matches nothing, and empty for the one that matches everything.
    """

    __slots__ = ("_hash", "matches", "requirements")

    requirements: tuple[Requirement, ...] | None
    matches: Callable[[Labels], bool]

    def __init__(self, requirements: Iterable[Requirement] | None) -> None:
        if requirements is not None:
            requirements = tuple(sorted(set(requirements), key=_order))
        self.requirements = requirements
        self.matches = _matcher(requirements)
        self._hash = hash(requirements)

    @property
    def matches_nothing(self) -> bool:
        """Return whether no labels satisfy it (the compiled ``None``)."""
        return self.requirements is None

    @property
    def matches_everything(self) -> bool:
        """Return whether all labels satisfy it (the compiled empty selector)."""
        return self.requirements == ()

    def __eq__(self, other: object) -> bool:
        return (
            self.requirements == other.requirements if isinstance(other, CompiledSelector) else NotImplemented
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[CompiledSelector], tuple[tuple[Requirement, ...] | None]]:
        return CompiledSelector, (self.requirements,)

    def __repr__(self) -> str:
        return brief_of(self, self.requirements)


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, tuple(sorted(requirement.values))


def _matcher(requirements: tuple[Requirement, ...] | None) -> Callable[[Labels], bool]:
    """Return the matching function. Most selectors have one or two labels with one value each."""
    if requirements is None:
        return lambda labels: False
    if not requirements:
        return lambda labels: True
    exact = tuple(
        (each.key, *each.values) for each in requirements if each.operator == IN and len(each.values) == 1
    )
    others = tuple(each for each in requirements if each.operator != IN or len(each.values) != 1)
    if not others:
        return _exact_matcher(exact)

    def matches(labels: Labels) -> bool:
        find = labels.get
        for key, value in exact:
            if find(key) != value:
                return False
        for requirement in others:  # noqa: SIM110  (a generator costs more than the test)
            if not requirement.matches_value(find(requirement.key)):
                return False
        return True

    return matches


def _exact_matcher(exact: tuple[tuple[str, ...], ...]) -> Callable[[Labels], bool]:
    if len(exact) == 1:
        ((key, value),) = exact
        return lambda labels: labels.get(key) == value

    def matches(labels: Labels) -> bool:
        find = labels.get
        for key, value in exact:  # noqa: SIM110  (a generator costs more than the test)
            if find(key) != value:
                return False
        return True

    return matches


NOTHING: Final = CompiledSelector(None)
"""Matches no labels."""
EVERYTHING: Final = CompiledSelector(())
"""Matches all labels."""


def compile_label_selector(selector: LabelSelector | None) -> CompiledSelector:
    """Return the compiled form: ``None`` matches nothing, the empty selector everything. Cached by value.

    Raises :class:`InputError` for an unknown operator, and for values that the operator must not have or
    lacks.
    """
    try:
        return NOTHING if selector is None else _compiled(selector)
    except (AttributeError, TypeError):
        check_arguments(compile_label_selector, selector)
        raise


@lru_cache(maxsize=2048)
def _compiled(selector: LabelSelector) -> CompiledSelector:
    requirements = [Requirement(key, IN, (value,)) for key, value in selector.match_labels.items()]
    for index, expression in enumerate(selector.match_expressions):
        try:
            expression.check()
        except InputError as error:
            raise error.at(f"matchExpressions[{index}]") from None
        requirements.append(Requirement(expression.key, expression.operator, expression.values))
    return CompiledSelector(requirements)


def compile_label_map(labels: Labels) -> CompiledSelector:
    """Return the selector of exactly these labels. An empty map matches everything."""
    return CompiledSelector(Requirement(key, IN, (value,)) for key, value in labels.items())


def label_selector_matches(selector: LabelSelector | None, labels: Labels) -> bool:
    """Return whether *labels* satisfy *selector* (``None``: never). Compile a selector for many matches."""
    return compile_label_selector(selector).matches(labels)


@checked
class CompiledAffinityTerm:
    """A compiled pod affinity term. Terms with the same meaning are equal.

    Pods of ``namespaces`` always count, others only if the labels of their namespace satisfy
    ``namespace_selector``.
    """

    __slots__ = ("_hash", "namespace_selector", "namespaces", "selector", "topology_key")

    def __init__(self, term: PodAffinityTerm, namespace: str) -> None:
        """Compile *term* of a pod in *namespace*, which counts if the term names none."""
        own = not term.namespaces and term.namespace_selector is None
        self.namespaces = frozenset((namespace or DEFAULT_NAMESPACE,)) if own else frozenset(term.namespaces)
        self.namespace_selector = compile_label_selector(term.namespace_selector)
        self.selector = compile_label_selector(term.label_selector)
        self.topology_key = term.topology_key
        self._hash = hash(self._meaning())

    def _meaning(self) -> tuple[object, ...]:
        return self.namespaces, self.namespace_selector, self.selector, self.topology_key

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Return whether the term selects a pod with *labels* in *namespace* with *namespace_labels*."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)

    def __eq__(self, other: object) -> bool:
        return (
            self._meaning() == other._meaning() if isinstance(other, CompiledAffinityTerm) else NotImplemented
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return brief_of(self, *self._meaning())
