"""Proposals about topology spread, pod affinity and host ports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from ...api import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    Affinity,
    Pod,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from ..change import Change, ChangeKind, doublings
from .case import Case

_LARGEST_SKEW: Final = 1 << 20
"""A skew that no cluster exceeds; if it does not help, no skew does."""


def propose(case: Case) -> Iterator[Change]:
    """Propose larger skews, and to drop spread constraints, required terms and host ports."""
    pod = case.pod
    for i, constraint in enumerate(pod.spec.topology_spread_constraints):
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            yield _soft(pod, i, constraint)
            yield from _skewed(case, i, constraint)
    yield from _terms(pod)
    yield from _ports(pod)


def _constrained(pod: Pod, i: int, constraint: TopologySpreadConstraint) -> Pod:
    constraints = list(pod.spec.topology_spread_constraints)
    constraints[i] = constraint
    return evolve(pod, spec=evolve(pod.spec, topology_spread_constraints=tuple(constraints)))


def _soft(pod: Pod, i: int, constraint: TopologySpreadConstraint) -> Change:
    after = _constrained(pod, i, evolve(constraint, when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None))
    text = f"let the pod be spread over {constraint.topology_key} only where possible ({SCHEDULE_ANYWAY})"
    return Change(ChangeKind.DROP_SPREADING, text, pod=after)


def _skewed(case: Case, i: int, constraint: TopologySpreadConstraint) -> Iterator[Change]:
    """Propose the smallest skew that helps. Bisection finds it: a larger skew rejects no more nodes."""

    def raised(skew: int) -> Change:
        text = f"raise maxSkew over {constraint.topology_key} from {constraint.max_skew} to {skew}"
        steps = doublings(skew, constraint.max_skew)
        after = _constrained(case.pod, i, evolve(constraint, max_skew=skew))
        return Change(ChangeKind.RAISE_MAX_SKEW, text, steps, pod=after)

    low, high = constraint.max_skew, constraint.max_skew + 1
    while high <= _LARGEST_SKEW and not case.helps(raised(high)):
        low, high = high, high * 2 if high > low + 1 else high + 1
        if low == constraint.max_skew + 1 and not case.helps(raised(_LARGEST_SKEW)):
            return
    if high > _LARGEST_SKEW:
        return
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if case.helps(raised(middle)) else (middle, high)
    yield raised(high)


def _terms(pod: Pod) -> Iterator[Change]:
    affinity = pod.spec.affinity
    if affinity is None:
        return
    together, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    for i, term in enumerate(together.required if together is not None else ()):
        assert together is not None
        left = evolve(together, required=together.required[:i] + together.required[i + 1 :])
        yield _without_term(pod, evolve(affinity, pod_affinity=left), "podAffinity", i, term)
    for i, term in enumerate(apart.required if apart is not None else ()):
        assert apart is not None
        rest = evolve(apart, required=apart.required[:i] + apart.required[i + 1 :])
        yield _without_term(pod, evolve(affinity, pod_anti_affinity=rest), "podAntiAffinity", i, term)


def _without_term(pod: Pod, affinity: Affinity, name: str, i: int, term: PodAffinityTerm) -> Change:
    after = evolve(pod, spec=evolve(pod.spec, affinity=affinity))
    word = "affinity" if name == "podAffinity" else "anti-affinity"
    text = f"drop the required pod {word} over {term.topology_key} (term {i})"
    return Change(ChangeKind.DROP_POD_AFFINITY, text, pod=after)


def _ports(pod: Pod) -> Iterator[Change]:
    for i, container in enumerate(pod.spec.containers):
        for j, port in enumerate(container.ports):
            if port.host_port <= 0:
                continue
            ports = list(container.ports)
            ports[j] = evolve(port, host_port=0)
            containers = list(pod.spec.containers)
            containers[i] = evolve(container, ports=tuple(ports))
            after = evolve(pod, spec=evolve(pod.spec, containers=tuple(containers)))
            text = f"drop the host port {port.host_port} of container {container.name}"
            yield Change(ChangeKind.DROP_HOST_PORT, text, pod=after)
