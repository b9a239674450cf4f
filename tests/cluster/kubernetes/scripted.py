"""A client whose answers a test writes down, one request after another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from attrs import define, field

from schedframe.cluster.kubernetes.errors import ApiError
from schedframe.errors import ClusterError
from schedframe.testing.virtual_loop import VirtualLoop

Answer = Any
"""A manifest, bytes, an error to raise, or a function of the body that returns one of these."""


@define(eq=False)
class Sent:
    """One request."""

    method: str
    path: str
    body: Any


@define(eq=False)
class ScriptedClient:
    """Stands in for :class:`ApiClient`: answers from ``script``, in order, and the last one for ever."""

    script: list[Answer] = field(factory=list)
    streams: list[list[Answer]] = field(factory=list)
    """For each watch its batches: a list of events, or an error; after the last one the watch stays open."""
    sent: list[Sent] = field(factory=list)

    async def request(self, method: str, path: str, body: bytes | None = None, **options: Any) -> bytes:
        read = json.loads(body) if body else None
        self.sent.append(Sent(method, path, read))
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        await asyncio.sleep(0)
        if callable(answer) and not isinstance(answer, type):
            answer = answer(read)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    @asynccontextmanager
    async def stream(self, path: str, *, quiet_seconds: float) -> AsyncIterator[Any]:
        self.sent.append(Sent("WATCH", path, quiet_seconds))
        batches = self.streams.pop(0) if self.streams else []
        if batches and isinstance(batches[0], ApiError):
            raise batches[0]
        yield self._batches(batches)

    async def _batches(self, batches: list[Answer]) -> AsyncIterator[list[bytes]]:
        for batch in batches:
            await asyncio.sleep(0)
            if batch == "end":
                return
            if isinstance(batch, ClusterError):
                raise batch
            yield [event if isinstance(event, bytes) else json.dumps(event).encode() for event in batch]
        await asyncio.Event().wait()

    def methods(self) -> list[str]:
        return [each.method for each in self.sent]


def run(work: Callable[[], Any], seconds: float = 3600.0) -> Any:
    """Run a coroutine function to its end, in virtual time; sockets are real."""
    loop = VirtualLoop()
    try:
        return loop.run(asyncio.wait_for(work(), seconds))
    finally:
        loop.finish()


def refusal(status: int, reason: str = "Because", retry_after: float | None = None) -> ApiError:
    return ApiError("POST /somewhere", status, reason, "the message", retry_after)


def pod(name: str, version: str = "1", *, uid: str = "", node: str = "", **status: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid or f"uid-{name}",
            "resourceVersion": version,
        },
        "spec": {"containers": [{"name": "c"}], **({"nodeName": node} if node else {})},
        "status": status,
    }


def listed(version: str, *objects: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version, "continue": more}, "items": list(objects)}
