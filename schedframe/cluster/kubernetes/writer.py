"""Writes to the API server besides binds: retried as far as that is safe, and no outcome is ever guessed.

A write whose answer did not come is repeated. If the server then says that another one came first, the object
is read back: that other one may have been the first attempt.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

from attrs import field

from ..._base.value import record
from ...api import DISRUPTION_TARGET, ClusterObject, Pod, PodCondition
from ...api.manifest import to_manifest
from ...errors import ClusterError
from ..port import Conflict, NotFound, OutcomeUnknown
from .backoff import LONGEST_SECONDS, Backoff
from .binder import PODS, Lookup, shown
from .client import JSON, MERGE_PATCH, STRATEGIC_PATCH, UNREAD, ApiClient
from .decoding import Decoder
from .encoding import encode
from .errors import CONFLICT, INVALID, NOT_FOUND, ApiError, NotLeading, is_without_effect
from .lanes import Closed, Lanes, Priority
from .loop_time import loop_time
from .patches import changes, is_applied, status_patch, with_preconditions, without_server_fields
from .resources import Resource

WRITE_SECONDS: Final = 10.0
"""Deadline of one attempt."""
FIRST_WAIT_SECONDS: Final = 0.05
LONGEST_WAIT_SECONDS: Final = 1.0
"""Seconds between two attempts, which double from the first: pods wait for these writes."""
SHORT_FAULT_SECONDS: Final = 5.0
"""Seconds of failures after which a server is in trouble, and the waits are those of other requests."""
GIVE_UP_SECONDS: Final = 30.0
"""Seconds after which a write that certainly had no effect so far is given up."""
REMEMBERED_WRITES: Final = 1024
"""Objects as the server returned them, kept as the base of the next change."""

_EVICTED: Final = PodCondition(DISRUPTION_TARGET, "True", "EvictionByEvictionAPI", "Eviction API: evicting")


@record(eq=False)
class Writer:
    """The requests that change the cluster. All methods belong to the thread of the loop."""

    client: ApiClient
    lanes: Lanes
    lookup: Lookup
    find: Callable[[type[ClusterObject]], Awaitable[Resource]]
    """A class → where the API serves it."""
    _decoders: dict[str, Decoder] = field(factory=dict, init=False)
    _written: OrderedDict[tuple[str, str], Any] = field(factory=OrderedDict, init=False)

    # ---- status and eviction -----------------------------------------------------------------------------

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominated_node_name: str | None
    ) -> None:
        """Write a condition and the nominated node. Raises :class:`NotFound`, :class:`Conflict`.

        Nothing is written to a pod that has a node by now: what it says is out of date.
        """
        patch = status_patch(shown(self.lookup, pod) or pod, condition, nominated_node_name, time.time())
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        try:
            await self._send("PATCH", path, encode(patch), content_type=STRATEGIC_PATCH, accept=UNREAD)
        except ApiError as error:
            if error.status != INVALID or not await self._has_node(pod):
                raise

    async def _has_node(self, pod: Pod) -> bool:
        """Return whether the server has that very pod on a node."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        present: Pod = PODS.one(await self._send("GET", path, None), in_part=True)
        return present.uid == pod.uid and bool(present.spec.node_name)

    async def evict(self, pod: Pod, condition: PodCondition | None) -> None:
        """Write the condition, then delete the pod. Raises :class:`NotFound`, :class:`Conflict`."""
        present = shown(self.lookup, pod)
        if (present or pod).is_terminating:
            return
        await self.patch_pod_status(pod, condition or _EVICTED, None)
        await self._delete(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", pod.uid)

    async def _delete(self, path: str, uid: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions"} | (
            {"preconditions": {"uid": uid}} if uid else {}
        )
        await self._send("DELETE", path, encode(options), accept=UNREAD, gone_is_done=True)

    # ---- other objects -----------------------------------------------------------------------------------

    async def create(self, obj: Any) -> Any:
        """Add an object. Raises :class:`Conflict`; :class:`OutcomeUnknown` if there was no answer.

        An object with a name is added again until there is an answer, one without a name is not.
        """
        resource: Resource = await self.find(type(obj))
        obj = resource.in_version(obj)
        collection = resource.path(obj.namespace, "").removesuffix("/")
        decoder, manifest = self._decoder(resource), to_manifest(obj)
        if not obj.name:  # the server makes up a name, so the object could not be read back
            return self._remember(decoder.one(await self._create_once(collection, encode(manifest))))
        try:
            stored = await self._send("POST", collection, encode(manifest))
        except _DoubtfulConflict:
            stored = await self._send("GET", resource.path(obj.namespace, obj.name), None)
            if not is_applied(without_server_fields(manifest), to_manifest(decoder.one(stored))):
                raise
        return self._remember(decoder.one(stored))

    async def _create_once(self, collection: str, body: bytes) -> bytes:
        async with self.lanes.turn(Priority.WRITE):
            try:
                return await self.client.request("POST", collection, body, seconds=WRITE_SECONDS)
            except ApiError as error:
                raise _as_port_error(error) from None

    async def update(self, obj: Any) -> Any:
        """Send what differs from the version that *obj* was made from, and return the object as stored."""
        resource: Resource = await self.find(type(obj))
        obj = resource.in_version(obj)
        path, decoder = resource.path(obj.namespace, obj.name), self._decoder(resource)
        base = await self._base_of(obj, path, decoder)
        version = obj.metadata.resource_version
        if (obj.uid and obj.uid != base.uid) or (version and version != base.metadata.resource_version):
            raise Conflict(
                f"{obj.KIND} {obj.key} is at version {base.metadata.resource_version}, not {version}"
            )
        stored = base
        for patch, part in zip(changes(base, obj), ("", "/status"), strict=True):
            if patch:
                guarded = with_preconditions(patch, stored.uid, stored.metadata.resource_version)
                try:
                    body = await self._send("PATCH", path + part, encode(guarded), content_type=MERGE_PATCH)
                except _DoubtfulConflict:
                    body = await self._send("GET", path, None)
                    if not is_applied(patch, to_manifest(decoder.one(body))):
                        raise
                stored = self._remember(decoder.one(body))
        return stored

    async def _base_of(self, obj: Any, path: str, decoder: Decoder) -> Any:
        version = obj.metadata.resource_version
        for known in (self._written.get((obj.KIND, obj.key)), self.lookup(obj.KIND, obj.key)):
            if known is not None and version and known.metadata.resource_version == version:
                return known
        return decoder.one(await self._send("GET", path, None))

    async def delete(self, obj: Any) -> None:
        """Delete an object. Raises :class:`NotFound`, :class:`Conflict`."""
        resource: Resource = await self.find(type(obj))
        await self._delete(resource.path(obj.namespace, obj.name), obj.uid)

    def _decoder(self, resource: Resource) -> Decoder:
        if resource.kind not in self._decoders:
            self._decoders[resource.kind] = Decoder(resource.cls, resource.version)
        return self._decoders[resource.kind]

    def _remember(self, obj: Any) -> Any:
        self._written[obj.KIND, obj.key] = obj
        if len(self._written) > REMEMBERED_WRITES:
            self._written.popitem(last=False)
        return obj

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        gone_is_done: bool = False,
    ) -> bytes:
        """Send a request that may be repeated, until an answer counts or it takes too long.

        *gone_is_done*: 404 to a repeated request means that the first one was carried out, without an answer.
        """
        backoff = Backoff(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS)
        began, is_unknown = loop_time(), False
        while True:
            try:
                async with self.lanes.turn(Priority.WRITE):
                    return await self.client.request(
                        method, path, body, seconds=WRITE_SECONDS, accept=accept, content_type=content_type
                    )
            except Closed:
                raise OutcomeUnknown(f"{method} {path}: the scheduler ends") from None
            except NotLeading:
                raise
            except ClusterError as error:
                failure = error
            if isinstance(failure, ApiError) and not failure.is_transient:
                if gone_is_done and is_unknown and failure.status == NOT_FOUND:
                    return b""
                if is_unknown and failure.status == CONFLICT:
                    raise _DoubtfulConflict(str(failure))
                raise _as_port_error(failure)
            is_unknown = is_unknown or not is_without_effect(failure)
            if loop_time() - began > GIVE_UP_SECONDS:
                raise failure
            if loop_time() - began > SHORT_FAULT_SECONDS:
                backoff.longest = LONGEST_SECONDS
            await self.lanes.pause(backoff.next(getattr(failure, "retry_after", None)))


class _DoubtfulConflict(Conflict):
    """A conflict that an earlier request of the same write may have caused, whose answer did not come."""


def _as_port_error(error: ApiError) -> ClusterError:
    if error.status == NOT_FOUND:
        return NotFound(str(error))
    # The API server takes a patch with the uid of another object for an attempt to change the uid.
    is_another = error.status == INVALID and "metadata.uid" in error.message
    return Conflict(str(error)) if error.status == CONFLICT or is_another else error
