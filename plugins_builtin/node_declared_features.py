"""NodeDeclaredFeatures: nodes must declare the features that a pod requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    Depends,
    EventRegistration,
    EventResource,
    HintReads,
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
_NO_FEATURES: Final[Features] = frozenset()


@define(eq=False)
class NodeDeclaredFeatures:
    """Reject nodes that do not declare (``status.declared_features``) a feature that the pod requires."""

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> Features:
        """Return the features that the pod requires."""
        return required_features(pod.spec)

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Skip a pod that requires none."""
        required = required_features(pod.spec)
        if not required:
            return Status.skip()
        state.write(_REQUIRED, required)
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject a node that lacks a required feature."""
        required = state.read(_REQUIRED)
        declared = node_info.node.status.declared_features
        return None if required.issubset(declared) or not node_info.has_node else _STATUS

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`, evaluated once for each distinct set of features; O(rows)."""
        required = state.read(_REQUIRED)
        column: DictionaryColumn[Features] = rows.table.distinct(_COLUMN, _declared)
        lacking = column.answers(required, lambda declared: not required <= declared, bool(required))
        rejected = column.take(lacking, rows.index)
        return RowVerdicts.where(rejected, _STATUS) if rejected.any() else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nodes that are added or declare other features, and changes of the pod."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE)
        pods = ClusterEvent(EventResource.POD, Action.UPDATE)
        return (
            EventRegistration(nodes, features_changed, HintReads.EVENT),
            EventRegistration(pods, requirements_changed, HintReads.CLASS),
        )


def features_changed(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the node is new, or its declared features changed."""
    return old is None or old.status.declared_features != new.status.declared_features


def requirements_changed(pod: Pod, old: Pod, new: Pod) -> bool:
    """Hint: the required features of the pod itself changed."""
    return new.uid == pod.uid and required_features(old.spec) != required_features(new.spec)


def _declared(node: Node) -> Features | None:
    return frozenset(node.status.declared_features) or None


# ---- required features ---------------------------------------------------------------------------------


def required_features(spec: PodSpec) -> Features:
    """Return the features that a pod of this *spec* requires; cached on the spec.

    Source: k8s.io/component-helpers/nodedeclaredfeatures of v1.36. Its other features (resizing in place, web
    sockets) matter to updates of running pods and to the API server, not to scheduling.
    """
    memo = spec.memo
    required: Features | None = memo.get(_MEMO)
    if required is None:
        names = frozenset(name for name, is_required in REQUIRED_BY.items() if is_required(spec))
        required = memo[_MEMO] = names or _NO_FEATURES
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


REQUIRED_BY: Final[Mapping[str, Callable[[PodSpec], bool]]] = MappingProxyType(
    {
        "RestartAllContainersOnContainerExits": _restarts_all_containers,
        "UserNamespacesHostNetworkSupport": _users_in_host_network,
    }
)
"""Feature → whether a pod of the given spec requires it."""
