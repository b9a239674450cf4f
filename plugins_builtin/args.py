"""Arguments of the builtin plugins of ``kubescheduler.config.k8s.io/v1``, with defaults.

``check_*`` functions yield the errors that types cannot express, with their path in the document. They refuse
the same values, with the same types of errors, as kube-scheduler v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from attrs import evolve, field, frozen

from schedframe.api import (
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
    wire,
)
from schedframe.config import Duration, FieldError, label_value_problems, qualified_name_problems

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
SCORING_STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"

MAX_SHAPE_SCORE: Final = 10
"""Highest score of a shape point; scaled to the maximum of the framework."""

_SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_INT64_DIGITS: Final = 19
_TEN_SECONDS: Final = Duration.of(10)
_TEN_MINUTES: Final = Duration.of(600)


@frozen
class DefaultPreemptionArgs:
    """Candidate nodes of a preemption: a percentage of all nodes, but at least an absolute number."""

    min_candidate_nodes_percentage: int = field(default=10, metadata=wire(bits=32))
    min_candidate_nodes_absolute: int = field(default=100, metadata=wire(bits=32))


def check_default_preemption(args: DefaultPreemptionArgs, path: str) -> Iterator[FieldError]:
    """Check that the percentage is 0 to 100, and that not both numbers are 0."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    yield from _in_range(f"{path}.minCandidateNodesPercentage", percentage, 100)
    if absolute < 0:
        yield FieldError.invalid(f"{path}.minCandidateNodesAbsolute", absolute, "must be 0 or more")
    if percentage == 0 and absolute == 0:
        detail = "no node would ever be tried; set one of the two above 0"
        yield FieldError.invalid(f"{path}.minCandidateNodesPercentage", percentage, detail)
        yield FieldError.invalid(f"{path}.minCandidateNodesAbsolute", absolute, detail)


@frozen
class DynamicResourcesArgs:
    """Time limits of the search for devices on one node (0 s: none), and of binding claims."""

    filter_timeout: Duration = _TEN_SECONDS
    binding_timeout: Duration = _TEN_MINUTES


def check_dynamic_resources(args: DynamicResourcesArgs, path: str) -> Iterator[FieldError]:
    """Check that filtering is not limited below 0 s, nor binding below 1 s."""
    if args.filter_timeout < Duration():
        yield FieldError.invalid(
            f"{path}.filterTimeout", str(args.filter_timeout), "must be 0s (no limit) or longer"
        )
    if args.binding_timeout < Duration.of(1):
        yield FieldError.invalid(f"{path}.bindingTimeout", str(args.binding_timeout), "must be 1s or longer")


@frozen
class InterPodAffinityArgs:
    """Weight of required affinity of existing pods in scoring; whether their preferred terms count."""

    hard_pod_affinity_weight: int = field(default=1, metadata=wire(bits=32))
    ignore_preferred_terms_of_existing_pods: bool = field(default=False, metadata=wire(always=True))


def check_inter_pod_affinity(args: InterPodAffinityArgs, path: str) -> Iterator[FieldError]:
    """Check that the weight is 0 to 100."""
    yield from _in_range(f"{path}.hardPodAffinityWeight", args.hard_pod_affinity_weight, 100)


@frozen
class NodeAffinityArgs:
    """Node affinity that applies to every pod besides its own."""

    added_affinity: NodeAffinity | None = None


def check_node_affinity(args: NodeAffinityArgs, path: str) -> Iterator[FieldError]:
    """Check the expressions of all terms but preferred ones of weight 0."""
    affinity = args.added_affinity
    if affinity is None:
        return
    required = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for index, term in enumerate(affinity.required.terms if affinity.required else ()):
        yield from _selector_term(term, f"{required}[{index}]")
    preferred = f"{path}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, preference in enumerate(affinity.preferred):
        if preference.weight:
            yield from _selector_term(preference.preference, f"{preferred}[{index}]")


def _selector_term(term: NodeSelectorTerm, path: str) -> Iterator[FieldError]:
    for index, expression in enumerate(term.match_expressions):
        yield from _expression(expression, f"{path}.matchExpressions[{index}]")
    for index, expression in enumerate(term.match_fields):
        where = f"{path}.matchFields[{index}]"
        if expression.operator not in _FIELD_OPERATORS:
            yield FieldError.not_supported(f"{where}.operator", expression.operator, _FIELD_OPERATORS)
        elif len(expression.values) != 1:
            yield FieldError.invalid(
                f"{where}.values", list(expression.values), "a field takes exactly one value"
            )


def _expression(expression: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    operator, values = expression.operator, expression.values
    if operator not in _SELECTOR_OPERATORS:
        yield FieldError.not_supported(f"{path}.operator", operator, _SELECTOR_OPERATORS)
        return
    for problem in qualified_name_problems(expression.key):
        yield FieldError.invalid(f"{path}.key", expression.key, problem)
    if operator in ("In", "NotIn") and not values:
        yield FieldError.invalid(f"{path}.values", [], f"{operator} needs at least one value")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield FieldError.invalid(f"{path}.values", list(values), f"{operator} takes no values")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield FieldError.invalid(f"{path}.values", list(values), f"{operator} takes exactly one value")
        for index, value in enumerate(values):
            if not _is_int64(value):
                yield FieldError.invalid(
                    f"{path}.values[{index}]", value, f"{operator} compares with an integer"
                )
    for index, value in enumerate(values):
        for problem in label_value_problems(value):
            yield FieldError.invalid(f"{path}.values[{index}][{expression.key}]", value, problem)


def _is_int64(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not digits.isascii() or not digits.isdigit() or len(digits.lstrip("0")) > _INT64_DIGITS:
        return False
    return -(2**63) <= int(text) < 2**63


def _weight(value: int) -> int:
    return value or 1


@frozen
class ResourceSpec:
    """A resource that counts in scoring; a weight of 0 means the default, 1."""

    name: str = field(default="", metadata=wire(always=True))
    weight: int = field(default=1, converter=_weight)


DEFAULT_RESOURCES: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


def or_default_resources(resources: Iterable[ResourceSpec]) -> tuple[ResourceSpec, ...]:
    """Return *resources*; :data:`DEFAULT_RESOURCES` if there are none."""
    return tuple(resources) or DEFAULT_RESOURCES


@frozen
class UtilizationShapePoint:
    """Score (0 to 10) at a utilization (percent), a point of a piecewise linear function."""

    utilization: int = field(default=0, metadata=wire(bits=32, always=True))
    score: int = field(default=0, metadata=wire(bits=32, always=True))


@frozen
class RequestedToCapacityRatioParam:
    """Function from utilization to score."""

    shape: tuple[UtilizationShapePoint, ...] = ()


@frozen
class ScoringStrategy:
    """Strategy that scores resources; a declared strategy needs a type."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = field(default=DEFAULT_RESOURCES, converter=or_default_resources)
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


@frozen
class NodeResourcesFitArgs:
    """Resources that filtering ignores, by name or group (the part before ``/``), and the strategy."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = field(
        default=ScoringStrategy(type=LEAST_ALLOCATED), metadata=wire(always=True)
    )


def with_ignored_resources(args: NodeResourcesFitArgs, resources: tuple[str, ...]) -> NodeResourcesFitArgs:
    """Return *args* with other ``ignored_resources``: those that extenders manage."""
    return evolve(args, ignored_resources=resources)


def check_node_resources_fit(args: NodeResourcesFitArgs, path: str) -> Iterator[FieldError]:
    """Check names, type of strategy, weights (1 to 100), and the shape of the ratio strategy."""
    for index, name in enumerate(args.ignored_resources):
        for problem in qualified_name_problems(name):
            yield FieldError.invalid(f"{path}.ignoredResources[{index}]", name, problem)
    for index, group in enumerate(args.ignored_resource_groups):
        where = f"{path}.ignoredResourceGroups[{index}]"
        problems = qualified_name_problems(group)
        if "/" in group:
            problems.append("a group is the part before '/'; leave '/' and the rest out")
        for problem in problems:
            yield FieldError.invalid(where, group, problem)
    strategy, where = args.scoring_strategy, f"{path}.scoringStrategy"
    if strategy.type not in SCORING_STRATEGIES:
        yield FieldError.not_supported(f"{where}.type", strategy.type, SCORING_STRATEGIES)
    yield from check_resources(strategy.resources, f"{where}.resources")
    ratio = strategy.requested_to_capacity_ratio
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            detail = f"only for type {REQUESTED_TO_CAPACITY_RATIO}; remove it or set that type"
            yield FieldError.forbidden(f"{where}.requestedToCapacityRatio", detail)
    elif ratio is None:
        yield FieldError.required(f"{where}.requestedToCapacityRatio", "add it, with a shape")
    else:
        yield from check_shape(ratio.shape, f"{where}.requestedToCapacityRatio.shape")


def check_resources(resources: Iterable[ResourceSpec], path: str) -> Iterator[FieldError]:
    """Check that weights are 1 to 100."""
    for index, resource in enumerate(resources):
        if not 0 < resource.weight <= 100:
            detail = f"the weight of {resource.name} must be from 1 to 100"
            yield FieldError.invalid(f"{path}[{index}].weight", resource.weight, detail)


def check_shape(shape: tuple[UtilizationShapePoint, ...], path: str) -> Iterator[FieldError]:
    """Check that there are points, in order of utilization, with numbers in range."""
    if not shape:
        yield FieldError.required(path, "add at least one point")
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            detail = "points must come in order of utilization, without repetition"
            yield FieldError.invalid(f"{path}[{index}].utilization", shape[index].utilization, detail)
            break
    for index, point in enumerate(shape):
        yield from _in_range(f"{path}[{index}].utilization", point.utilization, 100)
        yield from _in_range(f"{path}[{index}].score", point.score, MAX_SHAPE_SCORE)


@frozen
class NodeResourcesBalancedAllocationArgs:
    """Resources whose utilization is balanced."""

    resources: tuple[ResourceSpec, ...] = field(default=DEFAULT_RESOURCES, converter=or_default_resources)


def check_balanced_allocation(args: NodeResourcesBalancedAllocationArgs, path: str) -> Iterator[FieldError]:
    """Check that each resource occurs once, with weight 1."""
    seen = set()
    for index, resource in enumerate(args.resources):
        where = f"{path}.resources[{index}]"
        if resource.name in seen:
            yield FieldError.duplicate(f"{where}.name", resource.name, "name each resource once")
        seen.add(resource.name)
        if resource.weight != 1:
            yield FieldError.invalid(
                f"{where}.weight", resource.weight, "balance has no weights; use 1 or leave it out"
            )


def _defaulting(value: str) -> str:
    return value or SYSTEM_DEFAULTING


@frozen
class PodTopologySpreadArgs:
    """Constraints for pods without any: the system defaults or, with ``defaulting_type`` List, these."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = field(default=SYSTEM_DEFAULTING, converter=_defaulting)


def check_pod_topology_spread(args: PodTopologySpreadArgs, path: str) -> Iterator[FieldError]:
    """Check that constraints need List, are complete, have no selectors, and differ in key or action."""
    kind, constraints = args.defaulting_type, args.default_constraints
    if kind not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        yield FieldError.not_supported(f"{path}.defaultingType", kind, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    elif kind == SYSTEM_DEFAULTING and constraints:
        detail = f"defaultConstraints count only with {LIST_DEFAULTING}; set that, or remove them"
        yield FieldError.invalid(f"{path}.defaultingType", kind, detail)
    seen = set()
    for index, constraint in enumerate(constraints):
        where = f"{path}.defaultConstraints[{index}]"
        yield from _constraint(constraint, where)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield FieldError.duplicate(
                where, f"{{{pair[0]}, {pair[1]}}}", "write one constraint for this key and action"
            )
        seen.add(pair)


def _constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield FieldError.invalid(f"{path}.maxSkew", constraint.max_skew, "must be 1 or more")
    if not constraint.topology_key:
        yield FieldError.required(f"{path}.topologyKey", "name the node label that makes the domains")
    else:
        for problem in qualified_name_problems(constraint.topology_key):
            yield FieldError.invalid(f"{path}.topologyKey", constraint.topology_key, problem)
    if not constraint.when_unsatisfiable:
        yield FieldError.required(f"{path}.whenUnsatisfiable", f"use one of {', '.join(_WHEN_UNSATISFIABLE)}")
    elif constraint.when_unsatisfiable not in _WHEN_UNSATISFIABLE:
        yield FieldError.not_supported(
            f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _WHEN_UNSATISFIABLE
        )
    if constraint.label_selector is not None:
        detail = "selectors are derived for each pod from its services and controllers; remove it"
        yield FieldError.forbidden(f"{path}.labelSelector", detail)


@frozen
class VolumeBindingArgs:
    """Seconds that binding volumes may take, and the score by storage capacity.

    ``shape`` belongs to the feature gate StorageCapacityScoring.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


def check_volume_binding(args: VolumeBindingArgs, path: str) -> Iterator[FieldError]:
    """Check that the timeout is not negative."""
    if args.bind_timeout_seconds < 0:
        yield FieldError.invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, "must be 0 or more")


def with_capacity_shape(args: VolumeBindingArgs) -> VolumeBindingArgs:
    """Return *args* with a shape that prefers storage of which little is requested, if they have none."""
    if args.shape:
        return args
    return evolve(args, shape=(UtilizationShapePoint(0, MAX_SHAPE_SCORE), UtilizationShapePoint(100, 0)))


def check_capacity_shape(args: VolumeBindingArgs, path: str) -> Iterator[FieldError]:
    """Check the shape."""
    yield from check_shape(args.shape or (), f"{path}.shape")


def refuse_capacity_shape(args: VolumeBindingArgs, path: str) -> Iterator[FieldError]:
    """Check that there is no shape."""
    if args.shape is not None:
        detail = "storage capacity is not scored (StorageCapacityScoring is off); remove it"
        yield FieldError.invalid(f"{path}.shape", [(p.utilization, p.score) for p in args.shape], detail)


def _in_range(path: str, value: int, highest: int) -> Iterator[FieldError]:
    if not 0 <= value <= highest:
        yield FieldError.invalid(path, value, f"must be from 0 to {highest}")
