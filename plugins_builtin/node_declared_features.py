"""Features of the node's software that a pod cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Node,
    NodeInfo,
    Pod,
    PodSpec,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.state import DictionaryColumn

ERR_REASON = "node(s) didn't match Pod's required features"
_STATUS = Status.unresolvable(ERR_REASON)

RESTART_ALL_CONTAINERS: Final = "RestartAllContainers"
"""Action of a container's restart rule."""

Features = frozenset[str]

_REQUIRED: Final = StateKey[Features]("NodeDeclaredFeatures/required")
_MEMO: Final = object()  # key in PodSpec.memo
_COLUMN: Final = ("declared features",)
_NOTHING: Final[Features] = frozenset()


@define(eq=False)
class NodeDeclaredFeatures:
    """A node must declare (``status.declared_features``) every feature that the pod's spec makes use of."""

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True

    @hookimpl
    def pod_signature(self, pod: Pod) -> Features:
        """The features that the pod needs."""
        return required_features(pod.spec)

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Skip a pod that needs none."""
        required = required_features(pod.spec)
        if not required:
            return Status.skip()
        state.write(_REQUIRED, required)
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Does the node declare them all?"""
        required = state.read(_REQUIRED)
        node = node_info.node
        return None if node is None or required.issubset(node.status.declared_features) else _STATUS

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; once for each distinct set of features, then O(rows)."""
        required = state.read(_REQUIRED)
        column: DictionaryColumn[Features] = rows.table.distinct(_COLUMN, _declared)
        lacking = column.answers(required, lambda declared: not required <= declared, bool(required))
        rejected = column.take(lacking, rows.index)
        return RowVerdicts.where(rejected, _STATUS) if rejected.any() else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Nodes that come or declare something else; changes of the pod itself."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE)
        pods = ClusterEvent(EventResource.POD, Action.UPDATE)
        return (EventRegistration(nodes, features_changed), EventRegistration(pods, requirements_changed))


def features_changed(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the node is new, or declares something else."""
    return old is None or old.status.declared_features != new.status.declared_features


def requirements_changed(pod: Pod, old: Pod, new: Pod) -> bool:
    """Hint: the waiting pod itself needs other features than before."""
    return new.uid == pod.uid and required_features(old.spec) != required_features(new.spec)


def _declared(node: Node) -> Features | None:
    return frozenset(node.status.declared_features) or None


# ---- which features a pod needs --------------------------------------------------------------------------


def required_features(spec: PodSpec) -> Features:
    """The features that a pod of this *spec* needs; kept in its memo.

    Source: k8s.io/component-helpers/nodedeclaredfeatures of v1.36. Its other features (resizing in place, web
    sockets) matter to updates of running pods and to the API server, not to scheduling.
    """
    memo = spec.memo
    required: Features | None = memo.get(_MEMO)
    if required is None:
        found = frozenset(name for name, needed in NEEDED_BY.items() if needed(spec))
        required = memo[_MEMO] = found or _NOTHING
    return required


def _restarts_all_containers(spec: PodSpec) -> bool:
    return any(
        rule.action == RESTART_ALL_CONTAINERS
        for containers in (spec.containers, spec.init_containers)
        for container in containers
        for rule in container.restart_policy_rules
    )


def _users_in_host_network(spec: PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


NEEDED_BY: Final[Mapping[str, Callable[[PodSpec], bool]]] = MappingProxyType(
    {
        "RestartAllContainersOnContainerExits": _restarts_all_containers,
        "UserNamespacesHostNetworkSupport": _users_in_host_network,
    }
)
"""Feature → does a pod of this spec need it?"""
