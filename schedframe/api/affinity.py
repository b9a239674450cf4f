"""Affinity, tolerations, taints and topology spread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field

from .._base.checked import check_arguments
from .._base.value import default_of, value
from ..errors import InputError
from ._wire import EMPTY, wire
from .fieldcodecs import TIME
from .requirements import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LABEL_OPERATORS,
    LT,
    NODE_OPERATORS,
    NOT_IN,
)

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@value(weakref_slot=False)
class LabelSelectorRequirement:
    """One expression over labels; ``operator`` is In, NotIn, Exists or DoesNotExist."""

    key: str = field(default="", metadata=wire(always=True))
    operator: str = field(default="", metadata=wire(always=True))
    values: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise :class:`InputError`, with the path from here, if the API server would refuse this."""
        _check_expression(self, LABEL_OPERATORS)

    _check_manifest = check


class within:  # noqa: N801 - called like a function, as context managers are
    """Context in which *path* is put in front of the path of an error; each decoded term opens some."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """Raise an :class:`InputError` with the longer path."""
        if isinstance(error, InputError):
            raise error.at(self.path) from None


def _check_expression(
    expression: LabelSelectorRequirement | NodeSelectorRequirement,
    operators: tuple[str, ...],
    single: tuple[str, ...] = (),
) -> None:
    operator, count = expression.operator, len(expression.values)
    if not expression.key:
        raise InputError("key", "is missing", "name the label")
    if operator not in operators:
        raise InputError("operator", f"{operator!r} is unknown here", f"use one of {', '.join(operators)}")
    if operator in single and count != 1:
        raise InputError("values", f"must be one value for {operator}, got {count}", "list exactly one value")
    if operator in (IN, NOT_IN) and not count:
        raise InputError("values", f"must not be empty for {operator}", f"list values, or use {EXISTS}")
    if operator in (EXISTS, DOES_NOT_EXIST) and count:
        raise InputError(
            "values", f"must be empty for {operator}", f"leave them out, or use {IN} or {NOT_IN}"
        )


@value(weakref_slot=False)
class LabelSelector:
    """All of ``match_labels`` and ``match_expressions`` must hold.

    The empty selector matches everything, ``None`` in its place nothing.
    """

    match_labels: Mapping[str, str] = EMPTY
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def __hash__(self) -> int:
        return hash((frozenset(self.match_labels.items()), self.match_expressions))


@value(weakref_slot=False)
class NodeSelectorRequirement:
    """One expression over a node's labels or fields; operators In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = field(default="", metadata=wire(always=True))
    operator: str = field(default="", metadata=wire(always=True))
    values: tuple[str, ...] = ()

    def check(self, of_fields: bool = False) -> None:
        """Raise :class:`InputError`, with the path from here, if the API server would refuse this.

        The API server accepts a Gt or Lt value that is not a number.
        """
        operators = (IN, NOT_IN) if of_fields else NODE_OPERATORS
        _check_expression(self, operators, single=operators if of_fields else (GT, LT))


@value(weakref_slot=False)
class NodeSelectorTerm:
    """All expressions must hold; a term without any matches no node.

    ``match_fields`` supports ``metadata.name``.
    """

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    def check(self) -> None:
        """Raise :class:`InputError`, with the path from here, if the API server would refuse the term."""
        for index, expression in enumerate(self.match_expressions):
            with within(f"matchExpressions[{index}]"):
                expression.check()
        for index, expression in enumerate(self.match_fields):
            with within(f"matchFields[{index}]"):
                expression.check(of_fields=True)


@value(weakref_slot=False)
class NodeSelector:
    """One of the terms must match."""

    terms: tuple[NodeSelectorTerm, ...] = field(default=(), metadata=wire("nodeSelectorTerms", always=True))

    def check(self) -> None:
        """Raise :class:`InputError`, with the path from here, if the API server would refuse a term."""
        for index, term in enumerate(self.terms):
            with within(f"nodeSelectorTerms[{index}]"):
                term.check()


@value(weakref_slot=False)
class PreferredSchedulingTerm:
    """``weight`` (1-100) is added to the score of nodes that match; an empty preference matches none."""

    weight: int = field(default=0, metadata=wire(bits=32, always=True))
    preference: NodeSelectorTerm = field(default=default_of(NodeSelectorTerm), metadata=wire(always=True))


@value(weakref_slot=False)
class NodeAffinity:
    """The nodes on which the pod must run, and the preferred ones."""

    required: NodeSelector | None = field(default=None, metadata=wire(_REQUIRED))
    preferred: tuple[PreferredSchedulingTerm, ...] = field(default=(), metadata=wire(_PREFERRED))

    def check(self) -> None:
        """Raise :class:`InputError`, with the path from here, if the API server would refuse a term."""
        if self.required is not None:
            with within(_REQUIRED):
                self.required.check()
        for index, preferred in enumerate(self.preferred):
            with within(f"{_PREFERRED}[{index}].preference"):
                preferred.preference.check()


@value(weakref_slot=False)
class PodAffinityTerm:
    """Pods, selected by labels and namespaces, and the topology domain in which they count.

    The API server merges ``match_label_keys`` and ``mismatch_label_keys`` into ``label_selector``.
    """

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = field(default="", metadata=wire(always=True))
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


@value(weakref_slot=False)
class WeightedPodAffinityTerm:
    """``weight`` (1-100) for each pod in the domain that the term matches."""

    weight: int = field(default=0, metadata=wire(bits=32, always=True))
    term: PodAffinityTerm = field(
        default=default_of(PodAffinityTerm), metadata=wire("podAffinityTerm", always=True)
    )


@value(weakref_slot=False, cache_hash=True)
class PodAffinity:
    """Pods in whose topology domain this pod must run, and preferred ones."""

    required: tuple[PodAffinityTerm, ...] = field(default=(), metadata=wire(_REQUIRED))
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(default=(), metadata=wire(_PREFERRED))


@value(weakref_slot=False, cache_hash=True)
class PodAntiAffinity:
    """Pods in whose topology domain this pod must not run, and preferably does not run."""

    required: tuple[PodAffinityTerm, ...] = field(default=(), metadata=wire(_REQUIRED))
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(default=(), metadata=wire(_PREFERRED))


@value(weakref_slot=False)
class Affinity:
    """``spec.affinity`` of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None

    @property
    def pod_terms(self) -> tuple[PodAffinityTerm, ...]:
        """All terms about pods, required and preferred ones."""
        parts = [part for part in (self.pod_affinity, self.pod_anti_affinity) if part is not None]
        return tuple(
            term for part in parts for term in (*part.required, *(each.term for each in part.preferred))
        )


@value(weakref_slot=False)
class Taint:
    """A taint rejects pods that do not tolerate it. ``time_added`` is seconds since the epoch."""

    key: str = field(default="", metadata=wire(always=True))
    value: str = ""
    effect: str = field(default="", metadata=wire(always=True))
    time_added: float | None = field(default=None, metadata=TIME)


@value(weakref_slot=False)
class Toleration:
    """A toleration of taints. An empty key (with ``Exists``) means all keys, an empty effect all effects."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Return whether *taint* is tolerated (empty operator: ``Equal``; an unknown one never matches)."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value


def find_untolerated_taint(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: Iterable[str] | None = None
) -> Taint | None:
    """Return the first of *taints* that no toleration covers, ``None`` if all are covered.

    Only taints with one of *effects* count (``None``: with any). O(taints × tolerations).
    """
    try:
        for taint in taints:
            if effects is not None and taint.effect not in effects:
                continue
            if not any(toleration.tolerates(taint) for toleration in tolerations):
                return taint
    except (AttributeError, TypeError):
        check_arguments(find_untolerated_taint, taints, tolerations, effects)
        raise
    return None


@value(weakref_slot=False)
class TopologySpreadConstraint:
    """A limit on the difference of matching pods between the domains of ``topology_key``.

    An empty ``node_affinity_policy`` means Honor, an empty ``node_taints_policy`` Ignore, ``min_domains``
    ``None`` means 1.
    """

    max_skew: int = field(default=0, metadata=wire(bits=32, always=True))
    topology_key: str = field(default="", metadata=wire(always=True))
    when_unsatisfiable: str = field(default="", metadata=wire(always=True))
    label_selector: LabelSelector | None = None
    min_domains: int | None = field(default=None, metadata=wire(bits=32))
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()
