"""Authentication by TokenReview and authorization by SubjectAccessReview, with caches."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from attrs import define, field, frozen

from ..cluster.kubernetes.client import ApiClient

V = TypeVar("V")

REVIEW_SECONDS: Final = 10.0
"""Deadline of one review."""
CACHED_ANSWERS: Final = 1024
"""Answers in one cache, at most."""
DEFAULT_TTL: Final = 10.0
"""Seconds for which an answer is cached."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


@frozen
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


@define(eq=False)
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


@frozen
class ReviewTimes:
    """Seconds for which the answers of the API server are cached."""

    token: float = DEFAULT_TTL
    allowed: float = DEFAULT_TTL
    denied: float = DEFAULT_TTL


@define(eq=False)
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
        review = await _review(
            self.client,
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}},
        )
        user = _identity(review.get("user") or {}) if review.get("authenticated") else None
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
        )
        allowed = bool(review.get("allowed"))
        self._access.put(key, allowed, self.times.allowed if allowed else self.times.denied)
        return allowed


async def _review(client: ApiClient, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    answer = await client.request("POST", path, _encode(body), seconds=REVIEW_SECONDS)
    status: Mapping[str, Any] = _decode(answer).get("status") or {}
    return status


def _identity(user: Mapping[str, Any]) -> Identity:
    extra: Mapping[str, Sequence[str]] = user.get("extra") or {}
    return Identity(
        user.get("username") or "",
        user.get("uid") or "",
        tuple(user.get("groups") or ()),
        tuple((name, tuple(values)) for name, values in sorted(extra.items())),
    )
