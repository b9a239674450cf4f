"""Other pods make room."""

from __future__ import annotations

from collections.abc import Iterator

from ...api import Pod
from ..change import Change, ChangeKind, Edit
from ..obstacles import PODS, Shortage
from . import Case, Near

_OF_A_NODE = 12
_ELSEWHERE = 24


def propose(case: Case) -> Iterator[Change]:
    """Pods on near nodes and pods nominated to them; pods elsewhere that affinity may have in mind."""
    seen: set[str] = {case.pod.uid}
    for near in case.near:
        pods = [pod for pod in near.info.pods.values() if _may_help(pod, near)]
        pods += case.nominated(near.name)
        for pod in sorted(pods, key=_least_important)[:_OF_A_NODE]:
            if pod.uid not in seen:
                seen.add(pod.uid)
                yield gone(case.pod, pod)
    elsewhere = [pod for pod in case.cluster.list("Pod") if pod.uid not in seen and _is_choosy(case.pod, pod)]
    for pod in sorted(elsewhere, key=_least_important)[:_ELSEWHERE]:
        yield gone(case.pod, pod)


def gone(pending: Pod, pod: Pod) -> Change:
    """Without *pod*; twice as large a change if it is more important than *pending*."""
    where = f" from {pod.node_name}" if pod.node_name else ""
    edit = Edit(f"Pod {pod.key}", "", pod.node_name or None, None)
    if pod.is_terminating:
        text = f"wait until {pod.key}, which is being deleted, is gone{where}"
        return Change(
            ChangeKind.WAIT_FOR_DELETION, text, 1, (edit,), deleted=(pod,), rank=_least_important(pod)
        )
    steps = 2 if pod.priority > pending.priority else 1
    text = f"delete pod {pod.key} (priority {pod.priority}){where}"
    return Change(ChangeKind.DELETE_POD, text, steps, (edit,), deleted=(pod,), rank=_least_important(pod))


def _least_important(pod: Pod) -> tuple[int, int, str]:
    return (pod.priority, pod.requests.get("cpu", 0), pod.key)


def _may_help(pod: Pod, near: Near) -> bool:
    """Whether it holds enough of all that the node lacks."""
    return all(_holds(pod, short) for short in near.miss.shortages)


def _holds(pod: Pod, short: Shortage) -> bool:
    held = 1 if short.resource == PODS else pod.requests.get(short.resource, 0)
    return held >= short.lacking


def _is_choosy(pending: Pod, pod: Pod) -> bool:
    """Whether one of the two may not want the other in the same domain."""
    if not pod.node_name or pod.is_terminated:
        return False
    return any(
        each.spec.affinity is not None
        and each.spec.affinity.pod_anti_affinity is not None
        and each.spec.affinity.pod_anti_affinity.required
        for each in (pending, pod)
    )
