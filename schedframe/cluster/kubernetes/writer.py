"""Writes to the API server: binds first, retried as far as that is safe, and no outcome is ever guessed.

A bind whose answer did not come is repeated until the server says what is true: binding a pod to the node
where it already is does no harm. As long as that takes, the caller waits, so the room on the node stays
taken.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from attrs import define, field

from ...api import DISRUPTION_TARGET, ClusterObject, Pod, PodCondition
from ...api.manifest import to_manifest
from ...errors import ClusterError
from ..port import BindConflict, BindNotFound, BindRefused, Conflict, NotFound, OutcomeUnknown
from .backoff import Backoff
from .client import JSON, MERGE_PATCH, METADATA_ONLY, STRATEGIC_PATCH, ApiClient
from .decoding import Decoder
from .errors import CONFLICT, NOT_FOUND, ApiError, NoAnswer, NotLeading, Unreachable
from .lanes import Closed, Lanes, Priority
from .loop_time import loop_time
from .patches import changes, status_patch, with_preconditions
from .resources import Resource

logger = logging.getLogger("schedframe.kubernetes")

BIND_DEADLINES: Final = (4.0, 8.0, 16.0, 30.0)
"""Seconds to wait for an answer about a bind: after no, one, two, … requests in a row without an answer."""
WRITE_SECONDS: Final = 10.0
"""Deadline of one attempt of any other write."""
GIVE_UP_SECONDS: Final = 30.0
"""Seconds after which a write that certainly had no effect so far is given up."""
REMEMBERED_WRITES: Final = 1024
"""Objects as the server returned them, kept as the base of the next change."""

_EVICTED: Final = PodCondition(DISRUPTION_TARGET, "True", "EvictionByEvictionAPI", "Eviction API: evicting")
_encode: Final = msgspec.json.Encoder().encode

Lookup = Callable[[str, str], Any]
"""``(kind, key)`` → the object as the watch shows it, ``None`` without one."""


@define(eq=False)
class Writer:
    """The requests that change the cluster. All methods belong to the thread of the loop."""

    client: ApiClient
    lanes: Lanes
    lookup: Lookup
    find: Callable[[type[ClusterObject]], Awaitable[Resource]]
    """A class → where the API serves it."""
    follows: Callable[[str], bool]
    """Whether a kind is followed, so that its absence in ``lookup`` means something."""
    unknown_outcomes: int = field(default=0, init=False)
    """Number of binds whose answer did not come."""
    bound: int = field(default=0, init=False)
    """Number of binds that certainly took effect."""
    _decoders: dict[str, Decoder] = field(factory=dict, init=False)
    _written: OrderedDict[tuple[str, str], Any] = field(factory=OrderedDict, init=False)

    # ---- bind --------------------------------------------------------------------------------------------

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind *pod*, and return when that is certain. Raises :class:`BindRefused` if it certainly is not.

        Raises :class:`OutcomeUnknown` only when the client is closed before the truth is known.
        """
        attempt = _BindAttempt(pod, node_name, self._shown(pod) is not None)
        while True:
            try:
                async with self.lanes.turn(Priority.BIND):
                    await self._bind_once(attempt)
                self.bound += 1
                return
            except Closed:
                if attempt.is_unknown:
                    raise OutcomeUnknown(f"the bind of {pod.key} to {node_name} had no answer") from None
                raise BindRefused(f"{pod.key} was not bound: the scheduler ends") from None
            except BindRefused:
                raise
            except NotLeading as error:
                raise BindRefused(f"{pod.key} was not bound: {error}") from error
            except ClusterError as error:
                await self._bind_failed(attempt, error)

    async def _bind_once(self, attempt: _BindAttempt) -> None:
        """Return if the pod is bound; raise what went wrong."""
        if self._is_bound(attempt) or (attempt.is_unknown and await self._read_back(attempt)):
            return
        pod = attempt.pod
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": attempt.node_name},
        }
        path = f"{attempt.path}/binding"
        try:
            await self.client.request("POST", path, _encode(body), seconds=attempt.deadline())
        except ApiError as error:
            # The pod has a node: that of an earlier attempt without an answer, or one by another client.
            own = error.status == CONFLICT and attempt.is_unknown and await self._read_back(attempt)
            if not own:
                raise

    def _is_bound(self, attempt: _BindAttempt) -> bool:
        """Whether the watch shows the pod on the node. Raises :class:`BindRefused` if it cannot get there."""
        pod, present = attempt.pod, self._shown(attempt.pod)
        if present is not None:
            there = present.spec.node_name
            if there and there != attempt.node_name:
                raise BindConflict(f"{pod.key} is on {there} already")
            if there:
                return True
        elif attempt.was_shown:
            raise BindNotFound(f"{pod.key} is gone")
        if not attempt.is_unknown and self.follows("Node") and self.lookup("Node", attempt.node_name) is None:
            raise BindRefused(f"{pod.key} is not bound to {attempt.node_name}: the node is gone")
        return False

    def _shown(self, pod: Pod) -> Pod | None:
        """Return that very pod as the watch shows it."""
        present: Pod | None = self.lookup("Pod", pod.key)
        return present if present is not None and present.uid == pod.uid else None

    async def _read_back(self, attempt: _BindAttempt) -> bool:
        """Ask the server where the pod is. Raises :class:`BindRefused` if it cannot get to the node."""
        pod = attempt.pod
        try:
            body = await self.client.request("GET", attempt.path, seconds=attempt.deadline())
        except ApiError as error:
            if error.status == NOT_FOUND:
                raise BindNotFound(f"{pod.key} is gone") from None
            raise
        attempt.unanswered = 0
        present: Pod = _pods.one(body)
        if pod.uid and present.uid != pod.uid:
            raise BindConflict(f"{pod.key} has uid {present.uid} now, not {pod.uid}")
        there = present.spec.node_name
        if there and there != attempt.node_name:
            raise BindConflict(f"{pod.key} is on {there} already")
        return bool(there)

    async def _bind_failed(self, attempt: _BindAttempt, error: ClusterError) -> None:
        """Wait for the next attempt. Raises :class:`BindRefused` if there is none."""
        pod, wait = attempt.pod, None
        attempt.unanswered += isinstance(error, NoAnswer)
        if isinstance(error, ApiError):
            wait = error.retry_after
            if error.status == NOT_FOUND:
                raise BindNotFound(f"{pod.key} is gone: {error.message}") from None
            if error.status == CONFLICT:
                raise BindConflict(f"{pod.key}: {error.message}") from None
            if error.is_refusal and not error.is_transient and not attempt.is_unknown:
                raise BindRefused(str(error)) from None
        if not _certainly_without_effect(error) and not attempt.is_unknown:
            attempt.is_unknown = True
            self.unknown_outcomes += 1
            logger.info("no answer to the bind of %s to %s: %s", pod.key, attempt.node_name, error)
        if not attempt.is_unknown and loop_time() - attempt.began > GIVE_UP_SECONDS:
            raise BindRefused(f"{pod.key} was not bound: {error}") from None
        await self.lanes.pause(attempt.backoff.next(wait))

    # ---- status and eviction -----------------------------------------------------------------------------

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominated_node_name: str | None
    ) -> None:
        """Write a condition and the nominated node. Raises :class:`NotFound`, :class:`Conflict`."""
        patch = status_patch(self._shown(pod) or pod, condition, nominated_node_name, time.time())
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        await self._send("PATCH", path, _encode(patch), content_type=STRATEGIC_PATCH, accept=METADATA_ONLY)

    async def evict(self, pod: Pod, condition: PodCondition | None) -> None:
        """Write the condition, then delete the pod. Raises :class:`NotFound`, :class:`Conflict`."""
        present = self._shown(pod)
        if (present or pod).is_terminating:
            return
        await self.patch_pod_status(pod, condition or _EVICTED, None)
        await self._delete(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", pod.uid)

    async def _delete(self, path: str, uid: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions"} | (
            {"preconditions": {"uid": uid}} if uid else {}
        )
        await self._send("DELETE", path, _encode(options), accept=METADATA_ONLY, gone_is_done=True)

    # ---- other objects -----------------------------------------------------------------------------------

    async def create(self, obj: Any) -> Any:
        """Add an object. Raises :class:`Conflict`; :class:`OutcomeUnknown` if there was no answer."""
        resource: Resource = await self.find(type(obj))
        collection = resource.path(obj.namespace, "").removesuffix("/")
        async with self.lanes.turn(Priority.WRITE):
            try:
                body = _encode(to_manifest(obj))
                stored = await self.client.request("POST", collection, body, seconds=WRITE_SECONDS)
            except ApiError as error:
                raise _as_port_error(error) from None
        return self._remember(self._decoder(resource).one(stored))

    async def update(self, obj: Any) -> Any:
        """Send what differs from the version that *obj* was made from, and return the object as stored."""
        resource: Resource = await self.find(type(obj))
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
                body = await self._send("PATCH", path + part, _encode(guarded), content_type=MERGE_PATCH)
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
            self._decoders[resource.kind] = Decoder(resource.cls)
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
        backoff, began, is_unknown = Backoff(), loop_time(), False
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
                raise _as_port_error(failure)
            is_unknown = is_unknown or not _certainly_without_effect(failure)
            if loop_time() - began > GIVE_UP_SECONDS:
                raise failure
            await self.lanes.pause(backoff.next(getattr(failure, "retry_after", None)))


@define(eq=False)
class _BindAttempt:
    """One bind, from its first request to the truth."""

    pod: Pod
    node_name: str
    was_shown: bool
    """Whether the watch showed the pod when the bind began."""
    is_unknown: bool = False
    """Whether some request may have taken effect."""
    unanswered: int = 0
    """Requests in a row without an answer."""
    began: float = field(factory=loop_time)
    backoff: Backoff = field(factory=lambda: Backoff(longest=2.0))

    @property
    def path(self) -> str:
        """Path of the pod."""
        return f"/api/v1/namespaces/{self.pod.namespace}/pods/{self.pod.name}"

    def deadline(self) -> float:
        """Return the seconds for the next request: more each time, because the server may be slow."""
        return BIND_DEADLINES[min(self.unanswered, len(BIND_DEADLINES) - 1)]


_pods: Final = Decoder(Pod)


def _certainly_without_effect(error: ClusterError) -> bool:
    """Whether the request was not carried out: not sent, or refused. A 5xx may come after the write."""
    return isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.is_refusal)


def _as_port_error(error: ApiError) -> ClusterError:
    if error.status == NOT_FOUND:
        return NotFound(str(error))
    return Conflict(str(error)) if error.status == CONFLICT else error
