"""The Lease object: the record of who leads, read and written by resource version."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isfinite, ulp
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec
from attrs import evolve, field

from ...._base.value import record
from ....api.times import format_micro_time
from ..client import ApiClient
from ..encoding import encode
from ..errors import NOT_FOUND, ApiError

_decode: Final = msgspec.json.Decoder().decode


INT32_MAX: Final = 2**31 - 1
"""The largest number that an API server takes for ``leaseTransitions``."""
MICROSECOND: Final = 1e-6
"""The resolution of the times in a Lease, in seconds."""


@record(frozen=True)
class LeaseName:
    """Name of the Lease that the replicas share."""

    namespace: str = "kube-system"
    name: str = "kube-scheduler"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@record(frozen=True)
class LeaseRecord:
    """Content of a Lease. Two records are equal if nothing was written in between."""

    holder: str
    """Identity of the leader, empty if the lease was released."""
    duration: float
    """Seconds after a renewal until others may take the lease; 0 if the Lease has no usable number."""
    renewed: str = ""
    acquired: str = ""
    transitions: int = 0
    """Number of changes of the holder."""
    version: str = ""
    """The resource version as stored. A renewal by a clock that repeats itself differs in this alone."""
    manifest: Mapping[str, Any] = field(factory=dict, eq=False, repr=False)
    """The object as stored, which the next write is based on."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> LeaseRecord:
        """Return the record in a Lease object; what is absent, or no number, is empty or 0."""
        spec = manifest.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration=_number(spec.get("leaseDurationSeconds")),
            renewed=spec.get("renewTime") or "",
            acquired=spec.get("acquireTime") or "",
            transitions=int(_number(spec.get("leaseTransitions"))),
            version=(manifest.get("metadata") or {}).get("resourceVersion") or "",
            manifest=manifest,
        )

    @property
    def uid(self) -> str:
        """The uid of the object, which another Lease of that name does not have; empty without one."""
        return (self.manifest.get("metadata") or {}).get("uid") or ""

    def claimed(self, identity: str, duration: float, wall: float) -> LeaseRecord:
        """Return the record by which *identity* takes or renews the lease at the wall time *wall*.

        It differs from this one even if the wall clock stands still: an API server stores nothing, and gives
        no new resource version, when an update changes nothing, so others would not see the renewal.
        """
        now, mine = format_micro_time(wall), self.holder == identity
        changes = 0 if mine or not self.manifest else 1
        if now == self.renewed:
            now = format_micro_time(wall + max(MICROSECOND, ulp(wall)))
        return evolve(
            self,
            holder=identity,
            duration=whole_seconds(duration),
            renewed=now,
            acquired=self.acquired if mine and self.acquired else now,
            transitions=min(self.transitions + changes, INT32_MAX),
        )

    def released(self, wall: float) -> LeaseRecord:
        """Return the record that lets another replica take the lease at once."""
        now = format_micro_time(wall)
        return evolve(self, holder="", duration=1.0, renewed=now, acquired=now)

    def restored(self, duration: float) -> LeaseRecord:
        """Return the record for a new Lease in the place of this one, which was deleted."""
        return evolve(self, duration=whole_seconds(duration), version="", manifest={})

    def to_manifest(self, name: LeaseName) -> dict[str, Any]:
        """Return the object to write; what this program does not know of it is kept."""
        spec = dict(self.manifest.get("spec") or {}) | {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": int(self.duration),
            "acquireTime": self.acquired or None,
            "renewTime": self.renewed or None,
            "leaseTransitions": self.transitions,
        }
        metadata = {"name": name.name, "namespace": name.namespace} | dict(
            self.manifest.get("metadata") or {}
        )
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


UNHELD: Final = LeaseRecord("", 0.0)
"""The record of a Lease that does not exist yet."""


def _number(value: object) -> float:
    """Return a positive number of a Lease, 0 for anything else: people edit Leases."""
    usable = isinstance(value, int | float) and isfinite(value) and value > 0
    return float(value) if usable else 0.0  # type: ignore[arg-type]


def whole_seconds(duration: float) -> float:
    """Return *duration* in the whole seconds that a Lease can say, at least 1; never shorter."""
    return float(max(1, ceil(duration)))


class Leases(Protocol):
    """Storage of the lease. The methods may raise :class:`ClusterError`."""

    async def read(self, seconds: float) -> LeaseRecord | None:
        """Return the record, ``None`` if there is no Lease."""
        ...

    async def write(self, record: LeaseRecord, seconds: float) -> LeaseRecord:
        """Store *record* unless the Lease changed since it was read, and return it as stored.

        Raises :class:`ApiError` with status 409 if it changed, or was created, in between.
        """
        ...


@record(eq=False)
class ApiLeases:
    """One Lease of an API server. The client has no fence, and connections of its own."""

    client: ApiClient
    name: LeaseName

    async def read(self, seconds: float) -> LeaseRecord | None:
        """See :class:`Leases`."""
        try:
            body = await self.client.request("GET", self._path, seconds=seconds)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return LeaseRecord.of(_decode(body))

    async def write(self, record: LeaseRecord, seconds: float) -> LeaseRecord:
        """See :class:`Leases`."""
        exists = bool(record.manifest)
        method, path = ("PUT", self._path) if exists else ("POST", self._path.rpartition("/")[0])
        body = encode(record.to_manifest(self.name))
        return LeaseRecord.of(_decode(await self.client.request(method, path, body, seconds=seconds)))

    @property
    def _path(self) -> str:
        namespace, name = quote(self.name.namespace, safe=""), quote(self.name.name, safe="")
        return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
