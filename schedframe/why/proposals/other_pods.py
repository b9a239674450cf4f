"""Proposals to remove other pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...api import Pod
from ..change import Change, ChangeKind
from ..near_misses import PODS, Shortage
from .case import Case, NearNode

_PODS_PER_NODE: Final = 12
"""Pods of a near node whose removal is proposed, least important first."""
_PODS_ELSEWHERE: Final = 24
"""Pods of other nodes whose removal is proposed, least important first."""


def propose(case: Case) -> Iterator[Change]:
    """Propose to remove pods on or nominated to near nodes, and pods that an anti-affinity may reject."""
    seen: set[str] = {case.pod.uid}
    for near in case.near:
        pods = [pod for pod in near.info.pods.values() if _may_help(pod, near)]
        pods += case.nominated(near.name)
        for pod in sorted(pods, key=_least_important)[:_PODS_PER_NODE]:
            if pod.uid not in seen:
                seen.add(pod.uid)
                yield _removal(case.pod, pod)
    elsewhere = [pod for pod in case.cluster.list("Pod") if pod.uid not in seen and _may_repel(case.pod, pod)]
    for pod in sorted(elsewhere, key=_least_important)[:_PODS_ELSEWHERE]:
        yield _removal(case.pod, pod)


def _removal(pending: Pod, pod: Pod) -> Change:
    """Propose to remove *pod*: a change of twice the size if its priority is above that of *pending*."""
    where = f" from {pod.node_name}" if pod.node_name else ""
    if pod.is_terminating:
        text = f"wait until {pod.key}, which is being deleted, is gone{where}"
        return Change(ChangeKind.WAIT_FOR_DELETION, text, deleted=(pod,), rank=_least_important(pod))
    steps = 2 if pod.priority > pending.priority else 1
    text = f"delete pod {pod.key} (priority {pod.priority}){where}"
    return Change(ChangeKind.DELETE_POD, text, steps, deleted=(pod,), rank=_least_important(pod))


def _least_important(pod: Pod) -> tuple[int, int, str]:
    return (pod.priority, pod.requests.get("cpu", 0), pod.key)


def _may_help(pod: Pod, near: NearNode) -> bool:
    """Return whether *pod* holds enough of everything that the node lacks."""
    return all(_holds(pod, short) for short in near.miss.shortages)


def _holds(pod: Pod, short: Shortage) -> bool:
    held = 1 if short.resource == PODS else pod.requests.get(short.resource, 0)
    return held >= short.lacking


def _may_repel(pending: Pod, pod: Pod) -> bool:
    """Return whether one of the two has a required anti-affinity, which may reject the other."""
    if not pod.node_name or pod.is_terminated:
        return False
    return any(
        each.spec.affinity is not None
        and each.spec.affinity.pod_anti_affinity is not None
        and each.spec.affinity.pod_anti_affinity.required
        for each in (pending, pod)
    )
