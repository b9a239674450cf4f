"""The Lease object: the record of who leads, read and written by resource version."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec
from attrs import define, evolve, field, frozen

from ....api.times import format_micro_time
from ..client import ApiClient
from ..errors import NOT_FOUND, ApiError

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


@frozen
class LeaseName:
    """Which Lease the replicas share."""

    namespace: str = "kube-system"
    name: str = "kube-scheduler"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class LeaseRecord:
    """Content of a Lease. Two records are equal if no replica wrote in between."""

    holder: str
    """Identity of the leader, empty if the lease was released."""
    duration: float
    """Seconds after a renewal until others may take the lease."""
    renewed: str = ""
    acquired: str = ""
    transitions: int = 0
    """Number of changes of the holder."""
    manifest: Mapping[str, Any] = field(factory=dict, eq=False, repr=False)
    """The object as stored, which the next write is based on."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> LeaseRecord:
        """Return the record in a Lease object; what is absent is empty or 0."""
        spec = manifest.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration=float(spec.get("leaseDurationSeconds") or 0),
            renewed=spec.get("renewTime") or "",
            acquired=spec.get("acquireTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
            manifest=manifest,
        )

    def claimed(self, identity: str, duration: float, wall: float) -> LeaseRecord:
        """Return the record by which *identity* takes or renews the lease at the wall time *wall*."""
        now, mine = format_micro_time(wall), self.holder == identity
        return evolve(
            self,
            holder=identity,
            duration=whole_seconds(duration),
            renewed=now,
            acquired=self.acquired if mine and self.acquired else now,
            transitions=self.transitions if mine or not self.manifest else self.transitions + 1,
        )

    def released(self, wall: float) -> LeaseRecord:
        """Return the record that lets another replica take the lease at once."""
        now = format_micro_time(wall)
        return evolve(self, holder="", duration=1.0, renewed=now, acquired=now)

    def to_manifest(self, name: LeaseName) -> dict[str, Any]:
        """Return the object to write; what this program does not know of it is kept."""
        spec = dict(self.manifest.get("spec") or {}) | {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": int(self.duration),
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }
        metadata = {"name": name.name, "namespace": name.namespace} | dict(
            self.manifest.get("metadata") or {}
        )
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


UNHELD: Final = LeaseRecord("", 0.0)
"""The record of a Lease that does not exist yet."""


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


@define(eq=False)
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
        body = _encode(record.to_manifest(self.name))
        return LeaseRecord.of(_decode(await self.client.request(method, path, body, seconds=seconds)))

    @property
    def _path(self) -> str:
        namespace, name = quote(self.name.namespace, safe=""), quote(self.name.name, safe="")
        return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
