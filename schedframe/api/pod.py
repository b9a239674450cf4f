"""Pods, the objects that are scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, cast, final

from attrs import evolve, field

from .._base.brief import brief_of
from .._base.checked import check_arguments
from .._base.drafts import become, draft_of
from .._base.value import value
from ._copying import compile_copy
from ._wire import DEFAULT_NAMESPACE, HIDDEN, wire
from .containers import HostPort
from .metadata import NO_META, NamespacedObject, ObjectMeta
from .podspec import EMPTY_SPEC, PodResources, PodSpec, decode_spec, encode_spec, spec_on_node
from .podstatus import FAILED, NO_STATUS, SUCCEEDED, PodStatus
from .resources import pod_resources


@final
@value(init=False, weakref_slot=False)
class Pod(NamespacedObject):
    """A pod. Every attribute is O(1), or computed once and cached.

    ``key`` is ``namespace/name`` (an empty namespace is ``default``); ``priority`` is 0 if none is set.
    """

    KIND: ClassVar[str] = "Pod"
    API_VERSION: ClassVar[str] = "v1"

    metadata: ObjectMeta = NO_META
    spec: PodSpec = field(
        default=EMPTY_SPEC, metadata=wire(always=True, decode=decode_spec, encode=encode_spec)
    )
    status: PodStatus = NO_STATUS
    key: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    name: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    namespace: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    uid: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    labels: Mapping[str, str] = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    priority: int = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    _resources: PodResources | None = field(default=None, init=False, eq=False, repr=False, metadata=HIDDEN)

    def __init__(
        self, metadata: ObjectMeta = NO_META, spec: PodSpec = EMPTY_SPEC, status: PodStatus = NO_STATUS
    ) -> None:
        become(self, "__class__", _PodDraft)
        draft = cast("Any", self)
        namespace = metadata.namespace or DEFAULT_NAMESPACE
        draft.metadata, draft.spec, draft.status = metadata, spec, status
        draft.key = f"{namespace}/{metadata.name}"
        draft.name, draft.namespace, draft.uid = metadata.name, namespace, metadata.uid
        draft.labels, draft.priority, draft._resources = metadata.labels, spec.priority or 0, None
        draft.__class__ = Pod

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return brief_of(self, self.key, uid=self.uid, node_name=self.spec.node_name)

    @property
    def node_name(self) -> str:
        """``spec.node_name``: the node of the pod, empty if it has none."""
        return self.spec.node_name

    @property
    def resources(self) -> PodResources:
        """:attr:`requests` and :attr:`non_zero_requests`. Equal values are one object."""
        resources = self._resources
        if resources is None:
            resources = pod_resources(self)
            object.__setattr__(self, "_resources", resources)
        return resources

    @property
    def requests(self) -> Mapping[str, int]:
        """The amounts that nodes count for the pod, rounded up: ``cpu`` in milli-CPU, others in whole units.

        They include init containers, sidecars, overhead and pod-level resources; for a pod on a node also a
        resize in place according to its status. Only named resources that nodes count are in it.
        """
        return self.resources.requests

    @property
    def non_zero_requests(self) -> tuple[int, int]:
        """(milli-CPU, bytes) for scoring; a container without a request counts as 100m and 200Mi."""
        return self.resources.non_zero

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """:attr:`PodSpec.host_ports`."""
        return self.spec.host_ports

    @property
    def is_terminated(self) -> bool:
        """Return whether the pod has ended (Succeeded or Failed) and uses no resources any more."""
        return self.status.phase in (SUCCEEDED, FAILED)

    @property
    def is_terminating(self) -> bool:
        """Return whether the pod is being deleted."""
        return self.metadata.deletion_timestamp is not None

    def with_node_name(self, node_name: str) -> Pod:
        """Return the same pod on another node (an empty name: on none); shares ``spec.memo``. About 1 µs."""
        spec = self.spec
        # A pod that was searched for has a memo: a copy without a call in between.
        spec = spec.with_node_name(node_name) if spec._memo is None else spec_on_node(spec, node_name)
        if self.status is not NO_STATUS and _may_be_resized(self.status):
            return _pod_with_spec(self, spec)
        if self._resources is None:
            # Placing a pod needs its resources. Computed here, they are shared by all copies.
            object.__setattr__(self, "_resources", self.spec._resources or pod_resources(self))
        return _pod_with_like_spec(self, spec)

    def bound_as(self, placed: Pod, resource_version: str) -> Pod:
        """Return this pod on the node of *placed*, in another version.

        If *placed* was made from this pod by :meth:`with_node_name`, they share the spec.
        """
        try:
            spec = placed.spec
        except AttributeError:
            check_arguments(Pod.bound_as, placed, resource_version)
            raise
        memo = spec._memo
        if memo is None or memo is not self.spec._memo:
            spec = self.spec.with_node_name(spec.node_name)
        metadata = _meta_with_version(self.metadata, resource_version)
        if self.status is not NO_STATUS and _may_be_resized(self.status):
            return _pod_with_spec_and_metadata(self, spec, metadata)
        return _pod_with_like_spec_and_metadata(self, spec, metadata)

    def with_status(self, **changes: Any) -> Pod:
        """Return the same pod with these fields of its status changed."""
        return _pod_with_status(self, evolve(self.status, **changes))

    def restated(self, status: PodStatus, resource_version: str) -> Pod:
        """Return the same pod with another status, in another version. About 1 µs."""
        return _pod_with_status_and_metadata(
            self, status, _meta_with_version(self.metadata, resource_version)
        )

    def with_resource_version(self, resource_version: str) -> Pod:
        """Return the same pod with another ``metadata.resource_version``."""
        return _pod_with_metadata(self, _meta_with_version(self.metadata, resource_version))


def _may_be_resized(status: PodStatus) -> bool:
    """Return whether the requests may depend on the status, which counts only for a pod on a node."""
    return bool(status.container_statuses or status.init_container_statuses or status.resources is not None)


_PodDraft: Final = draft_of(Pod)
# The requests of a pod on a node may depend on its status: a change of either discards the cached ones.
_pod_with_spec: Final = compile_copy(Pod, "spec", fixed={"_resources": None})
_pod_with_spec_and_metadata: Final = compile_copy(Pod, "spec", "metadata", fixed={"_resources": None})
_pod_with_like_spec: Final = compile_copy(Pod, "spec")
_pod_with_like_spec_and_metadata: Final = compile_copy(Pod, "spec", "metadata")
_pod_with_status: Final = compile_copy(Pod, "status", fixed={"_resources": None})
_pod_with_status_and_metadata: Final = compile_copy(Pod, "status", "metadata", fixed={"_resources": None})
_pod_with_metadata: Final = compile_copy(Pod, "metadata")
_meta_with_version: Final = compile_copy(ObjectMeta, "resource_version")
