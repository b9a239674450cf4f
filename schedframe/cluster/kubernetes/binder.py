"""Binds: repeated as far as that is safe, and no outcome is ever guessed.

A bind whose answer did not come is repeated until the server says what is true: binding a pod to the node
where it already is does no harm. As long as that takes, the caller waits, so the room on the node stays
taken. When the server itself fails again and again, nothing more is sent; once all earlier requests must have
ended, the pod is read back a last time and then goes back to the queue. So it does when the node, which is
known by its uid, is no longer there: another one under its name is not the one that the pod was decided for.
No bind is sent while the view of the cluster is stale.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from attrs import field

from ..._base.value import record
from ...api import Pod
from ...errors import ClusterError
from ..port import BindConflict, BindNotFound, BindRefused, OutcomeUnknown
from .backoff import Backoff
from .client import UNREAD, ApiClient
from .decoding import Decoder
from .encoding import encode
from .errors import (
    CONFLICT,
    NOT_FOUND,
    SERVER_ERROR,
    TOO_MANY_REQUESTS,
    ApiError,
    NoAnswer,
    NotLeading,
    is_without_effect,
)
from .lanes import Closed, Lanes, Priority
from .loop_time import loop_time
from .view import View

logger = logging.getLogger("schedframe.kubernetes")

BINDS_AT_A_TIME: Final = 128
"""Binds that are decided and not answered, at most: enough to keep all connections busy, and so few that none
is decided long before it is sent."""
LATE_BINDS: Final = 384
"""Binds without an answer for a while that do not count among :data:`BINDS_AT_A_TIME`, at most."""
BIND_DEADLINES: Final = (4.0, 8.0, 16.0, 30.0)
"""Seconds to wait for an answer about a bind: after no, one, two, … requests in a row without an answer."""
GIVE_UP_SECONDS: Final = 30.0
"""Seconds after which a bind that certainly had no effect so far is given up."""
SERVER_FAILURES: Final = 5
"""Answers of 5xx to one bind after which it is not sent again."""
REQUEST_SECONDS: Final = 65.0
"""Seconds after which a request without an answer has ended: the API server ends each after 60."""
STORE_SECONDS: Final = 10.0
"""Seconds after an answer of 5xx in which the store may still carry the request out."""
SETTLE_SECONDS: Final = 2.0
"""Seconds between two looks at a pod whose bind is not sent again."""

Lookup = Callable[[str, str], Any]
"""``(kind, key)`` → the object as the watch shows it, ``None`` without one."""

PODS: Final = Decoder(Pod)


@record(eq=False)
class Binder:
    """Binds pods to nodes. All methods belong to the thread of the loop."""

    client: ApiClient
    lanes: Lanes
    lookup: Lookup
    follows: Callable[[str], bool]
    """Whether a kind is followed, so that its absence in ``lookup`` means something."""
    view: View
    """What says when the view of the cluster is stale."""
    on_doubt: Callable[[], None] | None = None
    """Called when ``in_doubt`` changes."""
    bound: int = field(default=0, init=False)
    """Number of binds that certainly took effect."""
    unknown_outcomes: int = field(default=0, init=False)
    """Number of binds whose answer did not come."""
    in_doubt: int = field(default=0, init=False)
    """Number of binds under way whose outcome is unknown."""

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind *pod*, and return when that is certain. Raises :class:`BindRefused` if it certainly is not.

        Raises :class:`OutcomeUnknown` only when the client is closed before the truth is known.
        """
        attempt = _BindAttempt(pod, node_name, shown(self.lookup, pod) is not None, self._node_uid(node_name))
        try:
            while True:
                try:
                    if self.view.holds:
                        await self._wait_for_view(attempt)
                    priority = Priority.BIND_AGAIN if attempt.is_unknown else Priority.BIND
                    async with self.lanes.turn(priority):
                        await self._bind_once(attempt)
                    self.bound += 1
                    return
                except _ViewIsStale:
                    continue
                except Closed:
                    raise _ended(attempt) from None
                except BindRefused:
                    raise
                except NotLeading as error:
                    await self._not_leading(attempt, error)
                except ClusterError as error:
                    await self._failed(attempt, error)
        finally:
            if attempt.is_unknown:
                self._doubt(-1)

    def _doubt(self, more: int) -> None:
        self.in_doubt += more
        if self.on_doubt is not None:
            self.on_doubt()

    async def _bind_once(self, attempt: _BindAttempt) -> None:
        """Return if the pod is bound; raise what went wrong."""
        if self._is_bound(attempt) or (attempt.is_unknown and await self._read_back(attempt)):
            return
        if attempt.is_unknown and self._node_uid(attempt.node_name) != attempt.node_uid:
            attempt.is_given_up = True
        if attempt.is_given_up:
            if attempt.may_take_effect():
                raise attempt.failure
            raise BindRefused(f"{attempt.pod.key} was not bound: {attempt.failure}")
        if self.view.holds:
            raise _ViewIsStale
        pod = attempt.pod
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": attempt.node_name},
        }
        attempt.sent_at = loop_time()
        try:
            await self.client.request(
                "POST",
                f"{attempt.path}/binding",
                encode(body),
                seconds=attempt.deadline(),
                accept=UNREAD,
            )
        except ApiError as error:
            # The pod has a node: that of an earlier attempt without an answer, or one by another client.
            own = error.status == CONFLICT and attempt.is_unknown and await self._read_back(attempt)
            if not own:
                attempt.note_failure(error)
                raise
        except NoAnswer as error:
            attempt.note_failure(error)
            raise

    def _is_bound(self, attempt: _BindAttempt) -> bool:
        """Return whether the watch shows the pod on the node. Raises :class:`BindRefused` if it cannot."""
        pod, present = attempt.pod, shown(self.lookup, attempt.pod)
        if present is not None:
            there = present.spec.node_name
            if there and there != attempt.node_name:
                raise BindConflict(f"{pod.key} is on {there} already")
            if there:
                return True
        elif attempt.was_shown:
            raise BindNotFound(f"{pod.key} is gone")
        if not attempt.is_unknown and (
            attempt.node_uid is None or self._node_uid(attempt.node_name) != attempt.node_uid
        ):
            raise BindRefused(f"{pod.key} is not bound to {attempt.node_name}: the node is gone")
        return False

    def _node_uid(self, node_name: str) -> str | None:
        """Return the uid of the node that the watch shows, ``None`` without; empty if none is followed."""
        if not self.follows("Node"):
            return ""
        node = self.lookup("Node", node_name)
        return None if node is None else str(node.uid)

    async def _wait_for_view(self, attempt: _BindAttempt) -> None:
        await self.view.until_open()
        if not attempt.is_unknown:
            attempt.began = loop_time()  # the time in which it could have been sent counts

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
        present: Pod = PODS.one(body, in_part=True)
        if pod.uid and present.uid != pod.uid:
            raise BindConflict(f"{pod.key} has uid {present.uid} now, not {pod.uid}")
        there = present.spec.node_name
        if there and there != attempt.node_name:
            raise BindConflict(f"{pod.key} is on {there} already")
        return bool(there)

    async def _not_leading(self, attempt: _BindAttempt, error: NotLeading) -> None:
        """Send nothing more; raise unless an earlier request may still take effect."""
        if not attempt.is_unknown:
            raise BindRefused(f"{attempt.pod.key} was not bound: {error}") from error
        attempt.is_given_up = True
        await self.lanes.pause(SETTLE_SECONDS)

    async def _failed(self, attempt: _BindAttempt, error: ClusterError) -> None:
        """Wait for the next attempt. Raises :class:`BindRefused` if there is none."""
        pod, wait = attempt.pod, None
        attempt.unanswered += isinstance(error, NoAnswer)
        if isinstance(error, ApiError):
            wait = error.retry_after
            if error.status == NOT_FOUND:
                raise BindNotFound(f"{pod.key} is gone: {error.message}") from None
            if error.status == CONFLICT:
                raise BindConflict(f"{pod.key}: {error.message}") from None
            if error.is_refusal and error.status != TOO_MANY_REQUESTS and not attempt.is_unknown:
                raise BindRefused(str(error)) from None
        if not is_without_effect(error) and not attempt.is_unknown:
            attempt.is_unknown = True
            self.unknown_outcomes += 1
            logger.info("no answer to the bind of %s to %s: %s", pod.key, attempt.node_name, error)
            self._doubt(1)
        if not attempt.is_unknown and loop_time() - attempt.began > GIVE_UP_SECONDS:
            raise BindRefused(f"{pod.key} was not bound: {error}") from None
        await self.lanes.pause(attempt.backoff.next(SETTLE_SECONDS if attempt.is_given_up else wait))


class _ViewIsStale(Exception):
    """The view of the cluster has become stale before the bind was sent."""


@record(eq=False)
class _BindAttempt:
    """One bind, from its first request to the truth."""

    pod: Pod
    node_name: str
    was_shown: bool
    """Whether the watch showed the pod when the bind began."""
    node_uid: str | None
    """That of the node then; ``None``: it was gone."""
    is_unknown: bool = False
    """Whether some request may have taken effect."""
    unanswered: int = 0
    """Requests in a row without an answer."""
    server_failures: int = 0
    """Answers of 5xx, and refusals while an earlier request may still take effect."""
    is_given_up: bool = False
    """Whether the bind is not sent again."""
    failure: ClusterError = field(factory=lambda: NoAnswer("nothing was sent"))
    """The last failure of a bind."""
    sent_at: float = 0.0
    settled_at: float = 0.0
    """When all requests so far have ended, and the server shows the truth."""
    began: float = field(factory=loop_time)
    backoff: Backoff = field(factory=lambda: Backoff(longest=1.0))

    @property
    def path(self) -> str:
        """Path of the pod."""
        return f"/api/v1/namespaces/{self.pod.namespace}/pods/{self.pod.name}"

    def deadline(self) -> float:
        """Return the seconds for the next request: more each time, because the server may be slow."""
        return BIND_DEADLINES[min(self.unanswered, len(BIND_DEADLINES) - 1)]

    def note_failure(self, error: ApiError | NoAnswer) -> None:
        """Note what came of a bind that was sent."""
        self.failure = error
        if isinstance(error, NoAnswer):
            self.settled_at = max(self.settled_at, self.sent_at + REQUEST_SECONDS)
        elif error.status >= SERVER_ERROR or not error.is_transient:
            self.server_failures += 1
            self.is_given_up = self.is_given_up or self.server_failures >= SERVER_FAILURES
            if not is_without_effect(error):
                self.settled_at = max(self.settled_at, loop_time() + STORE_SECONDS)

    def may_take_effect(self) -> bool:
        """Return whether a request that was sent may still take effect."""
        return loop_time() < self.settled_at


def shown(lookup: Lookup, pod: Pod) -> Pod | None:
    """Return that very pod as the watch shows it, ``None`` if it does not."""
    present: Pod | None = lookup("Pod", pod.key)
    return present if present is not None and present.uid == pod.uid else None


def _ended(attempt: _BindAttempt) -> ClusterError:
    """Return what the caller gets when the scheduler ends before the bind does."""
    if attempt.is_unknown:
        return OutcomeUnknown(f"the bind of {attempt.pod.key} to {attempt.node_name} had no answer")
    return BindRefused(f"{attempt.pod.key} was not bound: the scheduler ends")
