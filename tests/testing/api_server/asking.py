"""A plain HTTP client, so that the double is not tested by the client that it tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from attrs import define, field

from schedframe.testing.api_server import ApiServer
from schedframe.testing.virtual_loop import VirtualLoop

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@define(eq=False)
class Asker:
    """Sends requests to a server as one user."""

    server: ApiServer
    session: aiohttp.ClientSession
    headers: dict[str, str] = field(factory=dict)

    async def ask(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> tuple[int, Any]:
        """Return code and document of the answer."""
        data = None if body is None else json.dumps(body)
        sent = self.headers | {"Content-Type": content_type} | headers
        async with self.session.request(method, self.server.url + path, data=data, headers=sent) as reply:
            return reply.status, json.loads(await reply.read())

    async def watch(self, path: str, count: int = 10**9) -> list[Any]:
        """Return the events of a watch: the first *count*, or all if it ends before."""
        events: list[Any] = []
        async with self.session.get(self.server.url + path, headers=self.headers) as reply:
            assert reply.status == 200
            async for line in reply.content:
                events.append(json.loads(line))
                if len(events) == count:
                    break
        return events


def asking(work: Callable[[Asker], Awaitable[None]], server: ApiServer | None = None) -> None:
    """Run *work* against a server on the same loop, in virtual time."""
    served = ApiServer() if server is None else server

    async def serve() -> None:
        async with served, aiohttp.ClientSession() as session:
            token = served.config_of("admin")["users"][0]["user"]["token"]
            await asyncio.wait_for(work(Asker(served, session, {"Authorization": f"Bearer {token}"})), 20)

    loop = VirtualLoop()
    try:
        loop.run(serve())
    finally:
        loop.finish()


def pod(name: str = "a", **spec: Any) -> dict[str, Any]:
    """Return the manifest of a pod."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def binding(node: str, uid: str = "") -> dict[str, Any]:
    """Return the body of a bind."""
    metadata = {"uid": uid} if uid else {}
    return {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": metadata,
        "target": {"kind": "Node", "name": node},
    }
