"""Containers, their resources and ports."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field

from .._base.value import value
from ._wire import EMPTY, wire
from .fieldcodecs import AMOUNTS
from .quantity import Quantity

RESTART_ALWAYS = "Always"
"""``restart_policy`` of an init container that makes it a sidecar: it keeps running beside the containers."""


@value(weakref_slot=False)
class ContainerClaim:
    """A claim of ``spec.resource_claims`` that the container uses; ``request`` narrows it to one request."""

    name: str = field(default="", metadata=wire(always=True))
    request: str = ""


@value(weakref_slot=False)
class ResourceRequirements:
    """Requested and limited amounts by resource name. Manifests with negative amounts are refused."""

    requests: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    limits: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    claims: tuple[ContainerClaim, ...] = ()


NO_RESOURCES = ResourceRequirements()


@value(weakref_slot=False)
class ContainerPort:
    """A port of a container; only ports with ``host_port`` matter to scheduling."""

    container_port: int = field(default=0, metadata=wire(bits=32, always=True))
    host_port: int = field(default=0, metadata=wire(bits=32))
    host_ip: str = field(default="", metadata=wire("hostIP"))
    protocol: str = ""
    name: str = ""


@value
class HostPort:
    """A used port of a node. ``host_ip`` is ``0.0.0.0`` for all addresses; ``protocol`` is never empty."""

    host_ip: str
    protocol: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        """Return whether both conflict on one node: same protocol and port, and addresses that overlap."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.host_ip == other.host_ip or ANY_ADDRESS in (self.host_ip, other.host_ip))
        )


ANY_ADDRESS = "0.0.0.0"


@value(weakref_slot=False)
class ContainerResizePolicy:
    """The effect of a resize of one resource on the container."""

    resource_name: str = field(default="", metadata=wire(always=True))
    restart_policy: str = field(default="", metadata=wire(always=True))


@value(weakref_slot=False)
class ContainerRestartRuleExitCodes:
    """The exit codes of a restart rule; ``operator`` is ``In`` or ``NotIn``."""

    operator: str = field(default="", metadata=wire(always=True))
    values: tuple[int, ...] = ()


@value(weakref_slot=False)
class ContainerRestartRule:
    """A rule for the exit of a container; the action is ``Restart`` or ``RestartAllContainers``."""

    action: str = field(default="", metadata=wire(always=True))
    exit_codes: ContainerRestartRuleExitCodes | None = None


@value(weakref_slot=False)
class Container:
    """A container or init container, as far as scheduling reads it."""

    name: str = field(default="", metadata=wire(always=True))
    image: str = ""
    resources: ResourceRequirements = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    image_pull_policy: str = ""

    @property
    def is_sidecar(self) -> bool:
        """Return whether an init container keeps running (``restart_policy`` Always)."""
        return self.restart_policy == RESTART_ALWAYS
