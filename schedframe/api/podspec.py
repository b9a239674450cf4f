"""The spec of a pod: what it asks for. Pods of one template share one spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field, fields

from .._base.value import value
from ._copying import compile_copy
from ._wire import EMPTY, HIDDEN, wire
from .affinity import Affinity, Toleration, TopologySpreadConstraint, within
from .codec import decoder, encoder, sharing
from .containers import ANY_ADDRESS, Container, HostPort, ResourceRequirements
from .fieldcodecs import AMOUNTS, decode_named, decode_os_name, encode_named, encode_os_name
from .quantity import Quantity
from .volumes import Volume

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
_LARGEST_SUMMED: Final = 2**47
"""Milli-CPU, bytes or units: 65,536 pods that request no more have sums within 64 bits."""


@value(eq=False, weakref_slot=False)
class PodResources:
    """The total requests of a pod: ``requests`` as of :func:`whole_amounts`, ``non_zero`` for scoring.

    ``non_zero`` is (milli-CPU, bytes).
    """

    requests: Mapping[str, int]
    non_zero: tuple[int, int]
    is_huge: bool = field(init=False)
    """Whether the sum of an amount over the pods of one node may exceed 64 bits."""

    @is_huge.default
    def _exceeds(self) -> bool:
        return max(*self.non_zero, *self.requests.values()) > _LARGEST_SUMMED


@value(weakref_slot=False)
class PodResourceClaim:
    """An entry of ``spec.resource_claims``: the name of a claim, or of a template for one."""

    name: str = field(default="", metadata=wire(always=True))
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@value(weakref_slot=False)
class PodSchedulingGroup:
    """The group of pods that are scheduled together with the pod."""

    pod_group_name: str | None = None


@value(weakref_slot=False)
class PodSpec:
    """The spec of a pod. ``resources`` and ``overhead`` are those of the pod as a whole."""

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
    active_deadline_seconds: int | None = None
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
        """Scratch space shared by all copies that differ only in ``node_name``.

        Values derived from the other fields may be cached here; each module uses a key of its own.
        """
        memo = self._memo
        if memo is None:
            memo = {}
            object.__setattr__(self, "_memo", memo)
        return memo

    def forget(self) -> None:
        """Empty :attr:`memo`, for all copies."""
        if self._memo:
            self._memo.clear()

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports of containers and sidecars, in order. Computed once."""
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
        """Return the same spec on another node (an empty name: on none). Shares :attr:`memo`."""
        if self._memo is None:
            object.__setattr__(self, "_memo", {})
        return spec_on_node(self, node_name)

    def __getstate__(self) -> tuple[Any, ...]:
        # values in the memo may not be picklable, and can be derived again
        return tuple(getattr(self, name) for name in _SPEC_FIELDS)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, held in zip(_SPEC_FIELDS, state, strict=True):
            object.__setattr__(self, name, held)
        for name in ("_memo", "_resources", "_host_ports"):
            object.__setattr__(self, name, None)


def _decode(value: Any) -> PodSpec:
    return decoder(PodSpec)(value)  # made for the first pod, not at import


def encode_spec(spec: PodSpec) -> dict[str, Any]:
    """Return the spec of a manifest."""
    return encoder(PodSpec)(spec)


_generations: Final[list[dict[bytes, Any]]] = []
"""The specs that were decoded last, which later pods with equal specs share."""
_shared_spec: Final[Callable[[Any], PodSpec]] = sharing(_decode, generations=_generations)


def forget_shared_specs() -> None:
    """Empty the memos of specs that are kept for later pods. O(specs that are kept, a few thousand)."""
    for generation in list(_generations):
        for spec in list(generation.values()):
            spec.forget()


def decode_spec(value: Any) -> PodSpec:
    """Decode a spec. Equal specs are one object but for ``node_name``, and share :attr:`PodSpec.memo`."""
    node_name = value.get("nodeName") if isinstance(value, dict) else None
    if not node_name or type(node_name) is not str:
        return _shared_spec(value)
    rest = {key: entry for key, entry in value.items() if key != "nodeName"}
    return _shared_spec(rest).with_node_name(node_name)


_SPEC_FIELDS: Final = tuple(attribute.name for attribute in fields(PodSpec) if attribute.init)
spec_on_node: Final = compile_copy(PodSpec, "node_name")
"""``(spec, node_name)``: as :meth:`PodSpec.with_node_name`, for a spec that has a memo."""
EMPTY_SPEC: Final = PodSpec()


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    sidecars = [container for container in spec.init_containers if container.is_sidecar]
    return tuple(
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    )
