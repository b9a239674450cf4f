"""The server: an API server in this process, over real HTTP on the loopback interface."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from aiohttp import web
from attrs import field

from ..._base.value import record
from ...api import KINDS, ClusterObject
from ...api.manifest import to_manifest
from ...cluster.kubernetes.loop_thread import LoopThread
from .access import AccessRules, Rule
from .faults import Faults
from .handler import Handler, Hook
from .kinds import BUILT_IN, ServedKind
from .objects import Objects
from .requests import Request
from .store import Store

Obj = dict[str, Any]
T = TypeVar("T")

HOST: Final = "127.0.0.1"
BOOKMARK_SECONDS: Final = 60.0
"""Seconds between two bookmarks of a watch, as of an API server."""

SHUTDOWN_SECONDS: Final = 0.1
"""Seconds that requests under way get to end at the end, for aiohttp takes 0 as no limit."""

ASK_AGAIN_SECONDS: Final = 1.0
"""Seconds after which :meth:`ApiServer.wait_for` asks again although nothing happened here."""


@record(eq=False, kw_only=True, repr=False)
class ApiServer:
    """An API server for tests. Use it as a context: ``with`` runs it in a thread of its own.

    ``async with`` runs it on the loop that is running. ``clock``: seconds since the epoch, for times in
    objects; whatever the server waits for is counted by its loop. ``graceful``: bound pods that are deleted
    live on until :meth:`delete` ends them, as with a kubelet. Raises :class:`OSError` if no port is free.
    """

    clock: Callable[[], float] = time.time
    graceful: bool = False
    bookmark_seconds: float = BOOKMARK_SECONDS
    faults: Faults = field(factory=Faults, init=False)
    """What goes wrong."""
    requests: list[Request] = field(factory=list, init=False)
    """All requests so far, in the order of their arrival; clear it as you like."""
    hooks: list[Hook] = field(factory=list, init=False)
    """Called with each request before it takes effect; one that raises :class:`Refusal` refuses it."""
    access: AccessRules = field(factory=AccessRules, init=False)
    objects: Objects = field(init=False)
    _kinds: dict[str, ServedKind] = field(factory=dict, init=False)
    _port: int = field(default=0, init=False)
    _handler: Handler | None = field(default=None, init=False)
    _runner: web.ServerRunner | None = field(default=None, init=False)
    _thread: LoopThread | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.objects = Objects(Store(), self.clock, self.graceful)
        for kind in BUILT_IN:
            self._kinds[f"{kind.base}/{kind.plural}"] = kind

    def __repr__(self) -> str:
        return f"ApiServer({self.url!r})"

    # ---- running -----------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Return the address it listens at."""
        return f"http://{HOST}:{self._port}"

    def __enter__(self) -> Self:
        self._thread = LoopThread()
        self._thread.start()
        self._thread.run(self.listen())
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.run(self.shut_down())
            self._thread.stop()
            self._thread = None

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shut_down()

    async def listen(self) -> None:
        """Take requests on this loop: on a free port, and after :meth:`shut_down` on the same one again."""
        self._handler = Handler(
            self.objects,
            self._kinds,
            self.faults,
            self.access,
            self.requests,
            self.hooks,
            self.bookmark_seconds,
        )
        server = web.Server(self._handler, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def shut_down(self) -> None:
        """End all connections, and listen no more. The objects stay: :meth:`listen` is a restart."""
        if self._runner is None or self._handler is None:
            return
        runner, handler = self._runner, self._handler
        self._runner = self._handler = None
        server = runner.server
        for connection in [*server.connections] if server is not None else ():
            if connection.transport is not None:
                connection.transport.abort()
        handler.closing.set()
        self.objects.store.notify()  # wakes the watches, which end now
        await runner.cleanup()

    def stop(self) -> None:
        """Be away, as a server that has crashed: connections break, new ones are refused."""
        self._run(self.shut_down())

    def restart(self) -> None:
        """Be there again, at the same address with the same objects."""
        self._run(self.listen())

    def _run(self, work: Any) -> None:
        if self._thread is None:
            work.close()
            raise RuntimeError("the server has no thread of its own; await listen() and shut_down()")
        self._thread.run(work)

    def kubeconfig(self, path: str | os.PathLike[str], *, user: str = "admin") -> Path:
        """Write a kubeconfig of *user* for this server, and return its path."""
        file = Path(path)
        file.write_text(json.dumps(self.config_of(user)), encoding="utf-8")
        return file

    def config_of(self, user: str) -> Obj:
        """Return the kubeconfig of *user* as a document."""
        token = f"token-of-{user}"
        self.access.users[token] = user
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "double",
            "clusters": [{"name": "double", "cluster": {"server": self.url}}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "double", "context": {"cluster": "double", "user": user}}],
        }

    # ---- what a test does beside the requests ------------------------------------------------------------

    def serve(self, cls: type[ClusterObject], plural: str = "", *, version: str = "") -> None:
        """Serve a further kind: one of one's own, as after its CustomResourceDefinition, or a PodGroup.

        *version*: another one of the same API group, such as ``v1beta1`` for PodGroups.
        """
        name, served = cls.KIND.rpartition("/")[2], cls.API_VERSION
        if version:
            served = f"{served.rpartition('/')[0]}/{version}"
        known = KINDS.get(cls.KIND) is cls
        kind = ServedKind(
            served,
            plural or f"{name.lower()}s",
            name,
            cls.NAMESPACED,
            has_status=known and hasattr(cls, "status"),
            is_custom=not known,
        )
        self._kinds[f"{kind.base}/{kind.plural}"] = kind

    def forbid(self, verb: str = "*", resource: str = "*", user: str = "*") -> None:
        """Answer 403 from now on; *resource* as in rules of RBAC (``pods/binding``)."""
        self.access.forbidden.append(Rule(verb, resource, user))

    def create(self, obj: Mapping[str, Any] | ClusterObject) -> Obj:
        """Store a new object, with its status, and return it as stored. Raises :class:`Refusal` (409)."""
        kind, namespace, manifest = self._read(obj)
        return self.objects.create(kind, namespace, manifest, trusted=True)

    def apply(self, obj: Mapping[str, Any] | ClusterObject) -> Obj:
        """Store an object, with its status, in place of what is there, and return it as stored."""
        kind, namespace, manifest = self._read(obj)
        key = kind.key(namespace, manifest["metadata"]["name"])
        with self.objects.store.lock:
            present = self.objects.store.get(kind, key)
            if present is None:
                return self.objects.create(kind, namespace, manifest, trusted=True)
            metadata = {**manifest["metadata"]}
            for name in ("uid", "creationTimestamp", "namespace"):
                if name in present["metadata"]:
                    metadata[name] = present["metadata"][name]
            return self.objects.store.put(kind, key, {**present, **manifest, "metadata": metadata})

    def delete(self, kind: str, key: str) -> None:
        """Delete an object at once; one with finalizers ends with the last of them.

        Raises :class:`Refusal` (404).
        """
        self.objects.delete(self._kind(kind), key, {"gracePeriodSeconds": 0})

    def get(self, kind: str, key: str) -> Obj | None:
        """Return an object as stored, ``None`` without one; *key* is ``namespace/name`` or the name."""
        return self.objects.store.get(self._kind(kind), key)

    def list(self, kind: str) -> list[Obj]:
        """Return all objects of a kind as stored, by key."""
        objects = self.objects.store.all(self._kind(kind))
        return [objects[key] for key in sorted(objects)]

    def wait_for(self, condition: Callable[[], T], *, seconds: float = 30.0) -> T:
        """Return the first true answer of *condition*: it is asked again after each change and request.

        It is asked once a second, too, for what happens elsewhere. Not for the thread of the server's loop.
        Raises :class:`TimeoutError` after *seconds*.
        """
        happened, deadline = threading.Event(), time.monotonic() + seconds
        listener: Callable[[], None] = happened.set

        def hook(_: Request) -> None:
            happened.set()

        self.objects.store.listeners.add(listener)
        self.hooks.append(hook)
        try:
            while not (answer := condition()):
                if (left := deadline - time.monotonic()) <= 0:
                    raise TimeoutError(f"not within {seconds:g} s: {condition!r}")
                happened.wait(min(left, ASK_AGAIN_SECONDS))
                happened.clear()
            return answer
        finally:
            self.objects.store.listeners.discard(listener)
            self.hooks.remove(hook)

    def compact(self, keep: int = 0) -> None:
        """Forget the history but for the last *keep* changes: watches and pages of older versions get 410."""
        self.objects.store.compact(keep)

    def _kind(self, name: str) -> ServedKind:
        short = name.rpartition("/")[2]
        for kind in self._kinds.values():
            if kind.kind == short:
                return kind
        raise ValueError(f"the server has no kind {name}; call serve() with its class first")

    def _read(self, obj: Mapping[str, Any] | ClusterObject) -> tuple[ServedKind, str, Obj]:
        manifest = json.loads(json.dumps(dict(obj))) if isinstance(obj, Mapping) else to_manifest(obj)
        if isinstance(obj, ClusterObject):
            manifest["kind"] = obj.KIND.rpartition("/")[2]
        kind = self._kind(manifest["kind"])
        if not kind.namespaced:
            return kind, "", manifest
        return kind, manifest.get("metadata", {}).get("namespace") or "default", manifest
