"""Metadata of all API objects: names, labels, owners, timestamps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from attrs import field

from .._base.brief import brief_of
from .._base.checked import check_arguments
from .._base.value import value
from ._copying import compile_copy
from ._wire import DEFAULT_NAMESPACE, EMPTY, wire
from .fieldcodecs import LABELS, TIME

UNREADABLE: Final = "schedframe/unreadable"
"""Annotation of a claim whose present version cannot be read; pods that name it wait. It is never written."""


@value(weakref_slot=False)
class OwnerReference:
    """The object that this one belongs to; ``controller`` marks the one that manages it."""

    api_version: str = field(default="", metadata=wire(always=True))
    kind: str = field(default="", metadata=wire(always=True))
    name: str = field(default="", metadata=wire(always=True))
    uid: str = field(default="", metadata=wire(always=True))
    controller: bool | None = None
    block_owner_deletion: bool | None = None


@value(weakref_slot=False)
class ObjectMeta:
    """Identity of an object. Timestamps are seconds since the epoch (UTC)."""

    name: str = field(default="", metadata=wire(unique=True))
    namespace: str = ""
    uid: str = field(default="", metadata=wire(unique=True))
    labels: Mapping[str, str] = field(default=EMPTY, metadata=LABELS)
    annotations: Mapping[str, str] = EMPTY
    resource_version: str = field(default="", metadata=wire(unique=True))
    generation: int = 0
    creation_timestamp: float | None = field(default=None, metadata=TIME)
    deletion_timestamp: float | None = field(default=None, metadata=TIME)
    deletion_grace_period_seconds: int | None = None
    generate_name: str = field(default="", metadata=wire(unique=True))
    owner_references: tuple[OwnerReference, ...] = field(default=(), metadata=wire(share=True))
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, ``None`` if it has none."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None

    def with_finalizers(self, finalizers: tuple[str, ...]) -> ObjectMeta:
        """Return the same metadata with these finalizers. A tenth of the time of ``attrs.evolve``."""
        return _with_finalizers(self, finalizers)


def version_number(version: str) -> int | None:
    """Return a resource version as the number that API servers make it; ``None`` for another text."""
    if not isinstance(version, str):
        check_arguments(version_number, version)
    is_number = version.isascii() and version.isdecimal() and len(version) <= _MOST_DIGITS
    return int(version) if is_number else None


_MOST_DIGITS: Final = 39
"""Digits of a resource version: those of 128 bits."""
NO_META: Final = ObjectMeta()
_with_finalizers: Final[Callable[..., ObjectMeta]] = compile_copy(ObjectMeta, "finalizers")


@value(weakref_slot=False)
class Condition:
    """A condition of a device, a budget and the like. Pods and nodes have classes of their own."""

    type: str = field(default="", metadata=wire(always=True))
    status: str = field(default="", metadata=wire(always=True))
    reason: str = ""
    message: str = field(default="", metadata=wire(unique=True))
    observed_generation: int = 0
    last_transition_time: float | None = field(default=None, metadata=TIME)


class ClusterObject:
    """Names of a cluster-wide object. Subclasses are attrs classes with ``metadata``."""

    __slots__ = ()

    KIND: ClassVar[str]
    API_VERSION: ClassVar[str]
    NAMESPACED: ClassVar[bool] = False
    metadata: ObjectMeta

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Empty, because the object is cluster-wide."""
        return ""

    @property
    def key(self) -> str:
        """The name; unique within the kind."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """``metadata.uid``; empty until an API server assigned one."""
        return self.metadata.uid

    @property
    def labels(self) -> Mapping[str, str]:
        """``metadata.labels``."""
        return self.metadata.labels

    def __hash__(self) -> int:
        return hash((self.KIND, self.metadata.name))

    def __repr__(self) -> str:
        return brief_of(self, self.key, uid=self.uid)


class NamespacedObject(ClusterObject):
    """Names of a namespaced object; the default namespace is ``default``."""

    __slots__ = ()

    NAMESPACED = True

    @property
    def namespace(self) -> str:
        """``metadata.namespace``, or ``default``."""
        return self.metadata.namespace or DEFAULT_NAMESPACE

    @property
    def key(self) -> str:
        """``namespace/name``; unique within the kind."""
        return f"{self.metadata.namespace or DEFAULT_NAMESPACE}/{self.metadata.name}"

    def __hash__(self) -> int:
        return hash((self.KIND, self.metadata.namespace, self.metadata.name))
