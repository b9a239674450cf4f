"""Nodes, on which pods run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import evolve, field

from .._base.value import value
from ._wire import EMPTY, HIDDEN, wire
from .affinity import Taint
from .codec import decoder, encoder, sharing
from .fieldcodecs import TIME
from .metadata import NO_META, ClusterObject, ObjectMeta
from .quantity import Quantity
from .resources import whole_amounts
from .valuecodecs import Codec, list_of

LABEL_ZONE: Final = "topology.kubernetes.io/zone"
LABEL_REGION: Final = "topology.kubernetes.io/region"
LABEL_ZONE_BETA: Final = "failure-domain.beta.kubernetes.io/zone"
LABEL_REGION_BETA: Final = "failure-domain.beta.kubernetes.io/region"
TAINT_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"


@value(weakref_slot=False)
class ContainerImage:
    """An image on the node: its names (tags and digests), and how large it is in bytes."""

    names: tuple[str, ...] = field(default=(), metadata=wire(always=True))
    size_bytes: int = 0


_DISTINCT_IMAGES: Final = 8192
"""Images that are shared: a large cluster runs thousands. The entry of one takes some 400 bytes."""
_image: Final = Codec(None, sharing(decoder(ContainerImage), _DISTINCT_IMAGES), encoder(ContainerImage))
_images: Final = list_of(_image)
SHARED_IMAGES: Final = wire(decode=_images.decode, encode=_images.encode)
"""Metadata of a field with images. Equal ones are one object, because many nodes have the same."""


@value(weakref_slot=False)
class NodeCondition:
    """One condition of the node. Times are seconds since the epoch."""

    type: str = field(default="", metadata=wire(always=True))
    status: str = field(default="", metadata=wire(always=True))
    reason: str = ""
    message: str = field(default="", metadata=wire(unique=True))
    last_heartbeat_time: float | None = field(default=None, metadata=TIME)
    last_transition_time: float | None = field(default=None, metadata=TIME)


@value(weakref_slot=False)
class NodeAddress:
    """An address of the node; ``type`` is Hostname, InternalIP, ExternalIP and so on."""

    type: str = field(default="", metadata=wire(always=True))
    address: str = field(default="", metadata=wire(always=True, unique=True))


@value(weakref_slot=False)
class NodeSpec:
    """The spec of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = field(default=(), metadata=wire(share=True))
    provider_id: str = field(default="", metadata=wire("providerID", unique=True))
    pod_cidr: str = field(default="", metadata=wire("podCIDR", unique=True))
    pod_cidrs: tuple[str, ...] = field(default=(), metadata=wire("podCIDRs"))


@value(weakref_slot=False)
class NodeStatus:
    """The status of a node."""

    capacity: Mapping[str, Quantity] = field(default=EMPTY, metadata=wire(share=True))
    allocatable: Mapping[str, Quantity] = field(default=EMPTY, metadata=wire(share=True))
    phase: str = ""
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    images: tuple[ContainerImage, ...] = field(default=(), metadata=SHARED_IMAGES)
    declared_features: tuple[str, ...] = ()


NO_NODE_SPEC: Final = NodeSpec()
NO_NODE_STATUS: Final = NodeStatus()


@value(weakref_slot=False)
class Node(ClusterObject):
    """A node. ``key`` is its name."""

    KIND: ClassVar[str] = "Node"
    API_VERSION: ClassVar[str] = "v1"

    metadata: ObjectMeta = NO_META
    spec: NodeSpec = NO_NODE_SPEC
    status: NodeStatus = NO_NODE_STATUS
    key: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    name: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    uid: str = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    labels: Mapping[str, str] = field(init=False, eq=False, repr=False, metadata=HIDDEN)
    _allocatable: Mapping[str, int] | None = field(
        default=None, init=False, eq=False, repr=False, metadata=HIDDEN
    )

    def __attrs_post_init__(self) -> None:
        put = object.__setattr__
        metadata = self.metadata
        put(self, "key", metadata.name)
        put(self, "name", metadata.name)
        put(self, "uid", metadata.uid)
        put(self, "labels", metadata.labels)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def allocatable(self) -> Mapping[str, int]:
        """Amounts for pods in the units of :attr:`Pod.requests`; ``pods`` is the maximum of pods.

        ``status.allocatable``, or ``status.capacity`` if there is none, as the API server defaults it.
        Computed once.
        """
        amounts = self._allocatable
        if amounts is None:
            amounts = whole_amounts(self.status.allocatable or self.status.capacity)
            object.__setattr__(self, "_allocatable", amounts)
        return amounts

    def with_resource_version(self, resource_version: str) -> Node:
        """Return the same node with another ``metadata.resource_version``."""
        return evolve(self, metadata=evolve(self.metadata, resource_version=resource_version))
