"""Pods: what is scheduled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, cast, final

from attrs import evolve, field, fields, frozen

from ._copying import become, compile_copy, draft_of, fast_init
from ._wire import DEFAULT_NAMESPACE, EMPTY, HIDDEN, wire
from .affinity import Affinity, Toleration, TopologySpreadConstraint, within
from .codec import decoder, encoder, sharing
from .containers import ANY_ADDRESS, Container, HostPort, ResourceRequirements
from .fieldcodecs import AMOUNTS, decode_named, decode_os_name, encode_named, encode_os_name
from .metadata import NO_META, NamespacedObject, ObjectMeta
from .podstatus import FAILED, NO_STATUS, SUCCEEDED, PodStatus
from .quantity import Quantity
from .resources import PodResources, pod_resources
from .volumes import Volume

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"


@frozen(weakref_slot=False)
class PodResourceClaim:
    """An entry of ``spec.resource_claims``: a claim by name, or a template of which one is made."""

    name: str = field(default="", metadata=wire(always=True))
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@frozen(weakref_slot=False)
class PodSchedulingGroup:
    """The group that the pod is scheduled with."""

    pod_group_name: str | None = None


@fast_init
@frozen(weakref_slot=False)
class PodSpec:
    """What a pod asks for. ``resources`` and ``overhead`` are those of the pod as a whole."""

    containers: tuple[Container, ...] = field(default=(), metadata=wire(always=True, share=True))
    node_name: str = ""
    init_containers: tuple[Container, ...] = field(default=(), metadata=wire(share=True))
    ephemeral_containers: tuple[Container, ...] = ()
    overhead: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    resources: ResourceRequirements | None = None
    node_selector: Mapping[str, str] = field(default=EMPTY, metadata=wire(share=True))
    affinity: Affinity | None = field(default=None, metadata=wire(share=True))
    tolerations: tuple[Toleration, ...] = field(default=(), metadata=wire(share=True))
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = field(
        default=(), metadata=wire(share=True)
    )
    scheduling_gates: tuple[str, ...] = field(
        default=(), metadata=wire(decode=decode_named, encode=encode_named)
    )
    priority: int | None = field(default=None, metadata=wire(bits=32))
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduler_name: str = field(default=DEFAULT_SCHEDULER_NAME, metadata=wire(always=True))
    scheduling_group: PodSchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    restart_policy: str = ""
    runtime_class_name: str | None = None
    termination_grace_period_seconds: int | None = None
    service_account_name: str = ""
    os_name: str = field(default="", metadata=wire("os", decode=decode_os_name, encode=encode_os_name))
    hostname: str = field(default="", metadata=wire(unique=True))
    subdomain: str = ""
    _memo: dict[object, Any] | None = field(default=None, init=False, eq=False, repr=False, metadata=HIDDEN)
    _resources: PodResources | None = field(default=None, init=False, eq=False, repr=False, metadata=HIDDEN)
    _host_ports: tuple[HostPort, ...] | None = field(
        default=None, init=False, eq=False, repr=False, metadata=HIDDEN
    )

    @property
    def memo(self) -> dict[object, Any]:
        """Scratch space shared by all copies that differ in ``node_name`` alone.

        Whoever derives something from the rest of the spec may keep it here under a key of their own.
        """
        memo = self._memo
        if memo is None:
            memo = {}
            object.__setattr__(self, "_memo", memo)
        return memo

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Ports taken on the node: those of containers and sidecars with a host port, in order. Computed
        once.
        """
        ports = self._host_ports
        if ports is None:
            ports = _host_ports(self)
            object.__setattr__(self, "_host_ports", ports)
        return ports

    def _check_manifest(self) -> None:
        affinity = self.affinity.node_affinity if self.affinity is not None else None
        if affinity is not None:
            with within("affinity.nodeAffinity"):
                affinity.check()

    def with_node_name(self, node_name: str) -> PodSpec:
        """The same spec on another node (or, with an empty name, on none), sharing :attr:`memo`."""
        if self._memo is None:
            object.__setattr__(self, "_memo", {})
        return _spec_on_node(self, node_name)

    def __getstate__(self) -> tuple[Any, ...]:
        # what others keep in the memo need not be picklable, and can be derived again
        return tuple(getattr(self, name) for name in _SPEC_FIELDS)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(_SPEC_FIELDS, state, strict=True):
            object.__setattr__(self, name, value)
        for name in ("_memo", "_resources", "_host_ports"):
            object.__setattr__(self, name, None)


_shared_spec: Final[Callable[[Any], PodSpec]] = sharing(decoder(PodSpec))


def _decode_spec(value: Any) -> PodSpec:
    """Pods of one template share one spec, and with it what is derived from it, wherever they run."""
    node_name = value.get("nodeName") if isinstance(value, dict) else None
    if not node_name or type(node_name) is not str:
        return _shared_spec(value)
    rest = {key: entry for key, entry in value.items() if key != "nodeName"}
    return _shared_spec(rest).with_node_name(node_name)


_SPEC_FIELDS: Final = tuple(attribute.name for attribute in fields(PodSpec) if attribute.init)
_spec_on_node: Final = compile_copy(PodSpec, "node_name")
EMPTY_SPEC: Final = PodSpec()


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    sidecars = [container for container in spec.init_containers if container.is_sidecar]
    return tuple(
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    )


@final
@frozen(init=False, weakref_slot=False)
class Pod(NamespacedObject):
    """A pod. Everything below is O(1), or computed once and kept.

    ``key`` is ``namespace/name`` (an empty namespace is ``default``), ``priority`` 0 where none is set.
    """

    KIND: ClassVar[str] = "Pod"
    API_VERSION: ClassVar[str] = "v1"

    metadata: ObjectMeta = NO_META
    spec: PodSpec = field(
        default=EMPTY_SPEC, metadata=wire(always=True, decode=_decode_spec, encode=encoder(PodSpec))
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

    @property
    def node_name(self) -> str:
        """``spec.node_name``: where the pod runs or is bound to run, else empty."""
        return self.spec.node_name

    @property
    def resources(self) -> PodResources:
        """:attr:`requests` and :attr:`non_zero_requests` together; equal ones are one object."""
        resources = self._resources
        if resources is None:
            resources = pod_resources(self)
            object.__setattr__(self, "_resources", resources)
        return resources

    @property
    def requests(self) -> Mapping[str, int]:
        """What the pod takes from a node: ``cpu`` in milli-CPU, everything else in whole units, rounded up.

        Init containers, sidecars, overhead and pod-level resources are in it; for a pod on a node also what
        its status says of a resize in place. Only resources that are named somewhere, and that a node can
        count.
        """
        return self.resources.requests

    @property
    def non_zero_requests(self) -> tuple[int, int]:
        """(milli-CPU, bytes), with 100m and 200Mi for each container that does not say; for scoring."""
        return self.resources.non_zero

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """:attr:`PodSpec.host_ports`."""
        return self.spec.host_ports

    @property
    def is_terminated(self) -> bool:
        """Whether the pod has ended (Succeeded or Failed) and takes nothing any more."""
        return self.status.phase in (SUCCEEDED, FAILED)

    @property
    def is_terminating(self) -> bool:
        """Whether the pod is being deleted."""
        return self.metadata.deletion_timestamp is not None

    def with_node_name(self, node_name: str) -> Pod:
        """The same pod on another node (or none); shares ``spec.memo``. About a microsecond."""
        spec = self.spec.with_node_name(node_name)
        if _may_be_resized(self.status):
            return _pod_with_spec(self, spec)
        if self._resources is None:
            # Whoever places a pod wants to know: so copies need not find it out one by one.
            object.__setattr__(self, "_resources", pod_resources(self))
        return _pod_with_like_spec(self, spec)

    def bound_as(self, placed: Pod, resource_version: str) -> Pod:
        """This pod on the node of *placed*, in another version.

        Where *placed* was made from it (:meth:`with_node_name`) the spec is taken from there.
        """
        spec = placed.spec
        memo = spec._memo
        if memo is None or memo is not self.spec._memo:
            spec = self.spec.with_node_name(spec.node_name)
        metadata = _meta_with_version(self.metadata, resource_version)
        if _may_be_resized(self.status):
            return _pod_with_spec_and_metadata(self, spec, metadata)
        return _pod_with_like_spec_and_metadata(self, spec, metadata)

    def with_status(self, **changes: Any) -> Pod:
        """The same pod with these fields of its status changed."""
        return _pod_with_status(self, evolve(self.status, **changes))

    def restated(self, status: PodStatus, resource_version: str) -> Pod:
        """The same pod with another status, in another version. About a microsecond."""
        return _pod_with_status_and_metadata(
            self, status, _meta_with_version(self.metadata, resource_version)
        )

    def with_resource_version(self, resource_version: str) -> Pod:
        """The same pod with another ``metadata.resource_version``."""
        return _pod_with_metadata(self, _meta_with_version(self.metadata, resource_version))


def _may_be_resized(status: PodStatus) -> bool:
    """Whether the status may say something of requests, so that they depend on whether there is a node."""
    return status is not NO_STATUS and bool(
        status.container_statuses or status.init_container_statuses or status.resources is not None
    )


_PodDraft: Final = draft_of(Pod)
# what the status says counts in the requests of pods that have a node: a change of either drops them
_pod_with_spec: Final = compile_copy(Pod, "spec", fixed={"_resources": None})
_pod_with_spec_and_metadata: Final = compile_copy(Pod, "spec", "metadata", fixed={"_resources": None})
_pod_with_like_spec: Final = compile_copy(Pod, "spec")
_pod_with_like_spec_and_metadata: Final = compile_copy(Pod, "spec", "metadata")
_pod_with_status: Final = compile_copy(Pod, "status", fixed={"_resources": None})
_pod_with_status_and_metadata: Final = compile_copy(Pod, "status", "metadata", fixed={"_resources": None})
_pod_with_metadata: Final = compile_copy(Pod, "metadata")
_meta_with_version: Final = compile_copy(ObjectMeta, "resource_version")
