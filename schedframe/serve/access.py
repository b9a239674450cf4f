"""Authentication by TokenReview and authorization by SubjectAccessReview, with caches."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from hashlib import sha256
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from attrs import field

from .._base.value import record
from ..cluster.kubernetes.client import ApiClient
from ..cluster.kubernetes.errors import NoAnswer

V = TypeVar("V")
R = TypeVar("R", bound=msgspec.Struct)

REVIEW_SECONDS: Final = 10.0
"""Deadline of one review."""
CACHED_ANSWERS: Final = 1024
"""Answers in one cache, at most."""
DEFAULT_TTL: Final = 10.0
"""Seconds for which an answer is cached."""

_encode: Final = msgspec.json.Encoder().encode


class _User(msgspec.Struct):
    """``UserInfo``; lists that Go leaves empty may be null."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User | None = None


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


@record(frozen=True)
class Identity:
    """A user as the API server knows them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS: Final = Identity("system:anonymous", groups=("system:unauthenticated",))
"""The user of requests without a token."""


class AccessReviewer(Protocol):
    """Decides about requests. The methods run on the loop of the server."""

    async def authenticate(self, token: str) -> Identity | None:
        """Return whose *token* it is; ``None`` if it is not valid."""
        ...

    async def may(self, user: Identity, verb: str, path: str) -> bool:
        """Return whether *user* may do that."""
        ...


@record(eq=False)
class ExpiringCache(Generic[V]):
    """Answers by key, each for some seconds; the oldest one is dropped when there are too many."""

    clock: Callable[[], float] = time.monotonic
    _entries: OrderedDict[Hashable, tuple[float, V]] = field(factory=OrderedDict, init=False)

    def get(self, key: Hashable) -> tuple[V] | None:
        """Return the answer in a tuple; ``None`` if there is none or it has expired. O(1)."""
        entry = self._entries.get(key)
        if entry is None or entry[0] <= self.clock():
            return None
        return (entry[1],)

    def put(self, key: Hashable, value: V, seconds: float) -> None:
        """Cache *value* for *seconds*. O(1)."""
        self._entries[key] = self.clock() + seconds, value
        self._entries.move_to_end(key)
        if len(self._entries) > CACHED_ANSWERS:
            self._entries.popitem(last=False)


@record(frozen=True)
class ReviewTimes:
    """Seconds for which the answers of the API server are cached."""

    token: float = DEFAULT_TTL
    allowed: float = DEFAULT_TTL
    denied: float = DEFAULT_TTL


@record(eq=False)
class ApiReviewer:
    """Asks the API server, as kube-scheduler does. Without an answer, access is denied."""

    client: ApiClient
    """For TokenReviews; used on the loop of the server alone."""
    times: ReviewTimes = field(factory=ReviewTimes)
    access_client: ApiClient | None = None
    """For SubjectAccessReviews; ``None``: the same."""
    _tokens: ExpiringCache[Identity | None] = field(factory=ExpiringCache, init=False)
    _access: ExpiringCache[bool] = field(factory=ExpiringCache, init=False)

    async def close(self) -> None:
        """End the connections to the API server, on the loop of the server."""
        await self.client.close()
        if self.access_client is not None:
            await self.access_client.close()

    async def authenticate(self, token: str) -> Identity | None:
        """See :class:`AccessReviewer`. Raises :class:`ClusterError`."""
        key = sha256(token.encode()).digest()  # no token is kept in memory longer than its request
        known = self._tokens.get(key)
        if known is not None:
            return known[0]
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        review = await _review(
            self.client,
            path,
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}},
            _TokenReview,
        )
        user = _identity(path, review.status.user) if review.status.authenticated else None
        self._tokens.put(key, user, self.times.token)
        return user

    async def may(self, user: Identity, verb: str, path: str) -> bool:
        """See :class:`AccessReviewer`. Raises :class:`ClusterError`."""
        key = (user, verb, path)
        known = self._access.get(key)
        if known is not None:
            return known[0]
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": user.groups,
            "extra": dict(user.extra),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        review = await _review(
            self.access_client or self.client,
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec},
            _AccessReview,
        )
        # As in kube-scheduler, a denial counts more than a permission beside it.
        allowed = review.status.allowed and not review.status.denied
        self._access.put(key, allowed, self.times.allowed if allowed else self.times.denied)
        return allowed


async def _review(client: ApiClient, path: str, body: Mapping[str, Any], form: type[R]) -> R:
    """Return the answer to a review. Raises :class:`ClusterError` if there is none, or one of another form.

    A missing field has its zero value, as in Go; one of another type is never taken for a yes.
    """
    answer = await client.request("POST", path, _encode(body), seconds=REVIEW_SECONDS)
    try:
        return msgspec.json.decode(answer, type=form)
    except (ValueError, RecursionError) as error:  # msgspec's own errors and those of UTF-8 are ValueErrors
        raise NoAnswer(f"POST {path}: the answer is no {form.__name__[1:]}: {error}") from None


def _identity(path: str, user: _User | None) -> Identity:
    if user is None or not user.username:
        raise NoAnswer(f"POST {path}: the token is valid, but the answer does not name its user")
    return Identity(user.username, user.uid, user.groups or (), tuple(sorted((user.extra or {}).items())))
