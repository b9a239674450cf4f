"""Objects that admission reads, and scheduling does not: limit ranges, runtime classes, resource quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from attrs import field

from .._base.value import default_of, value
from ._wire import EMPTY, wire
from .affinity import Toleration
from .fieldcodecs import AMOUNTS
from .metadata import NO_META, ClusterObject, NamespacedObject, ObjectMeta
from .quantity import Quantity


@value(weakref_slot=False)
class LimitRangeItem:
    """Limits and defaults by resource name; ``type`` is Container, Pod or PersistentVolumeClaim."""

    type: str = field(default="", metadata=wire(always=True))
    max: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    min: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    default: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    default_request: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    max_limit_request_ratio: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)


@value(weakref_slot=False)
class LimitRangeSpec:
    """The items of a limit range; all of them hold."""

    limits: tuple[LimitRangeItem, ...] = field(default=(), metadata=wire(always=True))


@value(weakref_slot=False)
class LimitRange(NamespacedObject):
    """Bounds and defaults for the resources of new pods and claims of its namespace."""

    KIND: ClassVar[str] = "LimitRange"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: LimitRangeSpec = default_of(LimitRangeSpec)


@value(weakref_slot=False)
class RuntimeClassOverhead:
    """The resources that a pod of a runtime class uses besides those of its containers."""

    pod_fixed: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)


@value(weakref_slot=False)
class RuntimeClassScheduling:
    """The nodes that support a runtime class."""

    node_selector: Mapping[str, str] = EMPTY
    tolerations: tuple[Toleration, ...] = ()


@value(weakref_slot=False)
class RuntimeClass(ClusterObject):
    """A way to run containers; pods name it in ``spec.runtime_class_name``."""

    KIND: ClassVar[str] = "RuntimeClass"
    API_VERSION: ClassVar[str] = "node.k8s.io/v1"
    __hash__ = ClusterObject.__hash__

    metadata: ObjectMeta = NO_META
    handler: str = field(default="", metadata=wire(always=True))
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None


@value(weakref_slot=False)
class ScopedResourceSelectorRequirement:
    """A scope and the values that it selects; ``operator`` is In, NotIn, Exists or DoesNotExist."""

    scope_name: str = field(default="", metadata=wire(always=True))
    operator: str = field(default="", metadata=wire(always=True))
    values: tuple[str, ...] = ()


@value(weakref_slot=False)
class ScopeSelector:
    """Scopes with values; all must hold."""

    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


@value(weakref_slot=False)
class ResourceQuotaSpec:
    """The amounts that objects of the namespace may use, and which objects count."""

    hard: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


@value(weakref_slot=False)
class ResourceQuotaStatus:
    """The amounts that are in force, and those that are used."""

    hard: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)
    used: Mapping[str, Quantity] = field(default=EMPTY, metadata=AMOUNTS)


@value(weakref_slot=False)
class ResourceQuota(NamespacedObject):
    """A limit on what the objects of its namespace use together."""

    KIND: ClassVar[str] = "ResourceQuota"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = NO_META
    spec: ResourceQuotaSpec = default_of(ResourceQuotaSpec)
    status: ResourceQuotaStatus = default_of(ResourceQuotaStatus)


ADMISSION_KINDS: Final[tuple[type[ClusterObject], ...]] = (LimitRange, RuntimeClass, ResourceQuota)
"""Classes to pass as *kinds* to :func:`from_manifest` and :func:`load_manifests` to read such objects."""
