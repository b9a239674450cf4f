"""Kinds of objects and their places in the API."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from attrs import evolve

from ..._base.value import record
from ...api import ClusterObject
from ...api.kinds import KINDS
from ...api.validation.published import LATER_VERSIONS
from ...errors import ClusterError
from .client import ApiClient
from .errors import NOT_FOUND, ApiError

_PLURALS: Final = {
    "Pod": "pods",
    "Node": "nodes",
    "Namespace": "namespaces",
    "PriorityClass": "priorityclasses",
    "PodGroup": "podgroups",
    "Workload": "workloads",
    "Service": "services",
    "ReplicationController": "replicationcontrollers",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses",
    "CSINode": "csinodes",
    "CSIDriver": "csidrivers",
    "CSIStorageCapacity": "csistoragecapacities",
    "VolumeAttachment": "volumeattachments",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
}

RUNNING_PODS: Final = "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
"""Field selector of pods that take room or wait: those that have not ended."""


@record(frozen=True)
class Resource:
    """One kind and where the API serves it."""

    kind: str
    cls: type[ClusterObject]
    base: str
    """``/api/v1`` or ``/apis/GROUP/VERSION``."""
    plural: str
    selector: str = ""
    """Field selector of lists and watches, quoted."""

    @property
    def group(self) -> str:
        """The API group, empty for the core group; what RBAC rules call ``apiGroups``."""
        parts = self.base.split("/")
        return parts[2] if parts[1] == "apis" else ""

    @property
    def version(self) -> str:
        """``GROUP/VERSION`` if the class reads several versions, else empty."""
        return self.base.removeprefix("/apis/") if self.kind in LATER_VERSIONS else ""

    def in_version(self, obj: Any) -> Any:
        """Return *obj* as it is written here: in the version that the server has."""
        if not self.version:
            return obj
        version = "" if self.version == self.cls.API_VERSION else self.version
        return obj if obj.api_version == version else evolve(obj, api_version=version)

    @property
    def collection(self) -> str:
        """Path of all objects, of all namespaces."""
        return f"{self.base}/{self.plural}"

    def path(self, namespace: str, name: str) -> str:
        """Return the path of one object."""
        if self.cls.NAMESPACED:
            return f"{self.base}/namespaces/{namespace}/{self.plural}/{name}"
        return f"{self.base}/{self.plural}/{name}"

    def path_of(self, key: str) -> str:
        """Return the path of the object with that key (``namespace/name``, or the name)."""
        namespace, _, name = key.rpartition("/")
        return self.path(namespace, name)


class _Served(msgspec.Struct):
    name: str
    kind: str


class _ServedList(msgspec.Struct):
    resources: list[_Served] = []


class _Version(msgspec.Struct):
    major: str = ""
    minor: str = ""


FIRST_WITH_STREAMS: Final = (1, 27)
"""Version of the API server from which on it knows of streaming lists; earlier ones ignore the parameters."""


def offers_streams(version: bytes) -> bool:
    """Return whether the answer to ``/version`` is that of a server that knows of streaming lists."""
    try:
        read = msgspec.json.decode(version, type=_Version)
        return (int(read.major), int(read.minor.rstrip("+"))) >= FIRST_WITH_STREAMS
    except (ValueError, RecursionError):
        return False


def _served_at(base: str, body: bytes) -> _ServedList:
    """Return the kinds that the server has at *base*. Raises :class:`ClusterError` for any other answer."""
    try:
        return msgspec.json.decode(body, type=_ServedList)
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"the API server's list of the kinds in {base} cannot be read: {error}") from None


def base_of(api_version: str) -> str:
    """Return the path of an API version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def known_resource(kind: str) -> Resource | None:
    """Return the place of a kind that scheduling reads itself, ``None`` for another."""
    cls = KINDS.get(kind)
    if cls is None:
        return None
    selector = RUNNING_PODS if kind == "Pod" else ""
    return Resource(kind, cls, base_of(cls.API_VERSION), _PLURALS[kind], selector)


async def find_resource(client: ApiClient, cls: type[ClusterObject]) -> Resource:
    """Return the place of *cls*, asking the server for kinds of packages. Raises :class:`ClusterError`."""
    known = known_resource(cls.KIND)
    if known is not None and known.cls is cls:
        return await _of_served_version(client, known) if cls.KIND in LATER_VERSIONS else known
    base, short = base_of(cls.API_VERSION), cls.KIND.rpartition("/")[2]
    served = _served_at(base, await client.request("GET", base))
    for each in served.resources:
        if each.kind == short and "/" not in each.name:
            return Resource(cls.KIND, cls, base, each.name)
    raise ClusterError(
        f"the API server does not serve {short} in {cls.API_VERSION}; install its CustomResourceDefinition"
    )


async def _of_served_version(client: ApiClient, known: Resource) -> Resource:
    """Return *known* in the first version that the server has; *known* itself if it has none.

    For kinds whose versions one class reads, and of which a release serves some only.
    """
    own = known.cls.API_VERSION.rpartition("/")
    for version in (own[2], *LATER_VERSIONS[known.kind]):
        base = base_of(f"{own[0]}/{version}")
        try:
            served = _served_at(base, await client.request("GET", base))
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            continue
        if any(each.kind == known.kind for each in served.resources):
            return evolve(known, base=base)
    return known
