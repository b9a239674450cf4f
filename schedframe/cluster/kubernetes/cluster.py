"""A Kubernetes cluster as a :class:`ClusterPort`: one thread with an event loop does all network traffic.

Methods of the port may be called from any other thread and block it until the answer. On the thread of the
loop, those that :class:`RemoteCluster` names return an awaitable. Watch events are handed over there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, Literal, Self, TypedDict, TypeVar, Unpack

from attrs import field

from ..._base.validators import optional_number
from ..._base.value import record
from ...api import ClusterObject, Pod, PodCondition
from ...errors import ClusterError
from ..port import RemoteCluster, Subscription, ViewChange, WatchHandler
from .binder import BINDS_AT_A_TIME, LATE_BINDS, Binder
from .client import ApiClient
from .closed_nodes import ClosedNodes
from .decoding import Decoder
from .errors import NOT_FOUND, ApiError
from .events import FLUSH_SECONDS, EventRecorder, Occurrence, reference_to
from .fence import Fence
from .kubeconfig import Access, in_cluster_access, load_access
from .lanes import DEFAULT_BURST, DEFAULT_QPS, Lanes
from .listing import Lister
from .loop_thread import LoopThread
from .reaching import persistently, reach
from .reflector import Reflector, until_synced
from .resources import Resource, find_resource, known_resource
from .subscription import KindSubscription
from .view import STALE_VIEW_SECONDS, View
from .writer import Writer

logger = logging.getLogger("schedframe.kubernetes")

T = TypeVar("T")
Objects = list[Any]
_SECONDS: Final = optional_number("give seconds", least=0)

NOMINATION_DELAY: Final = 5.0
"""Seconds after which the status of a pod that is being bound names the node: most pods are bound by then,
and planners such as the cluster autoscaler look every 10 s."""


class ClusterOptions(TypedDict, total=False):
    """The fields of :class:`KubernetesCluster` besides ``access``, as keyword arguments."""

    qps: float
    burst: int
    kinds: tuple[type[ClusterObject], ...]
    sync_timeout: float
    binding_limit: int
    nomination_delay: float
    stale_view_seconds: float
    fence: Fence | None


@record(eq=False, kw_only=True, repr=False)
class KubernetesCluster(RemoteCluster):
    """A real cluster behind its API server. Close it, or use it as a context.

    ``access``: server and credentials (:meth:`from_kubeconfig` reads them). ``qps`` and ``burst``: requests a
    second, and at once, as of ``clientConnection``; a ``qps`` below 0 is no limit. ``kinds``: classes of
    kinds besides those that scheduling reads. ``sync_timeout``: seconds for the first lists of a watch.
    ``binding_limit``: binds under way at a time; the scheduler decides no more pods until some are answered.
    ``nomination_delay``: seconds that a pod waits in permit or pre_bind until its status names the node.
    ``stale_view_seconds``: how long decisions wait for kinds that cannot be read, from the server's first
    answer after an outage on; they wait without limit while it answers nothing.
    """

    access: Access
    qps: float = field(default=DEFAULT_QPS, validator=optional_number("give requests a second"))
    burst: int = field(default=DEFAULT_BURST, validator=optional_number("give 1 or more", least=1))
    kinds: tuple[type[ClusterObject], ...] = ()
    sync_timeout: float = field(default=120.0, validator=_SECONDS)
    _binding_limit: int = field(default=BINDS_AT_A_TIME, validator=optional_number("give 1 or more", least=1))
    nomination_delay: float = field(default=NOMINATION_DELAY, validator=_SECONDS)
    stale_view_seconds: float = field(default=STALE_VIEW_SECONDS, validator=_SECONDS)
    fence: Fence | None = None
    """Until when this replica may write, with leader election; ``None`` for ever."""
    on_limit_change: Callable[[int], None] | None = field(default=None, init=False)
    """See :class:`RemoteCluster`."""
    on_view_change: Callable[[ViewChange], None] | None = field(default=None, init=False)
    """See :class:`RemoteCluster`."""
    client: ApiClient = field(init=False)
    view: View = field(init=False)
    """Which kinds are known to be stale."""
    binder: Binder = field(init=False)
    writer: Writer = field(init=False)
    recorder: EventRecorder = field(init=False)
    _lanes: Lanes = field(init=False)
    _thread: LoopThread = field(factory=LoopThread)
    _reflectors: dict[str, Reflector] = field(factory=dict, init=False)
    _closed_nodes: ClosedNodes = field(factory=ClosedNodes, init=False)
    _resources: dict[str, Resource] = field(factory=dict, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)
    _syncing: asyncio.Task[None] | None = field(default=None, init=False)
    _has_streams: bool = field(default=False, init=False)
    _interrupted: bool = field(default=False, init=False)
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.client = ApiClient(self.access, fence=self.fence)
        self.view = View(self.stale_view_seconds, self._view_changed)
        self._lanes = Lanes(self.qps, self.burst, on_slow=self._limit_changed)
        self.binder = Binder(
            client=self.client,
            lanes=self._lanes,
            lookup=self._lookup,
            follows=self.follows,
            view=self.view,
            on_doubt=self._limit_changed,
        )
        self.writer = Writer(client=self.client, lanes=self._lanes, lookup=self._lookup, find=self._find)
        self.recorder = EventRecorder(self.client, self._lanes)
        self._thread.start()

    @classmethod
    def from_kubeconfig(
        cls,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        *,
        context: str | None = None,
        server: str | None = None,
        **options: Unpack[ClusterOptions],
    ) -> Self:
        """Return the cluster that kubeconfig *files* name; ``None`` as for kubectl, or the pod's own.

        *context* replaces ``current-context``, *server* the URL. Raises :class:`CredentialsError`.
        """
        return cls(access=load_access(files, context=context, server=server), **options)

    @classmethod
    def in_cluster(cls, **options: Unpack[ClusterOptions]) -> Self:
        """Return the cluster of the pod that this runs in. Raises :class:`CredentialsError`."""
        return cls(access=in_cluster_access(), **options)

    def __repr__(self) -> str:
        return f"KubernetesCluster({self.access.server!r})"

    @property
    def binding_limit(self) -> int:
        """Binds under way at a time; those without an answer for a while do not count, up to a number."""
        late = max(self.binder.in_doubt, self._lanes.slow())
        return self._binding_limit + min(late, LATE_BINDS)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that all requests run on, in a thread of its own."""
        return self._thread.loop

    # ---- reading -----------------------------------------------------------------------------------------

    def list(self, kind: str) -> Objects:
        """Return all objects of *kind*: as the watch shows them if it is followed, else from the server."""
        reflector = self._reflectors.get(kind)
        if reflector is not None and reflector.synced.is_set():
            return [*reflector.shown.objects.values()]
        return self._run(self._list(kind))

    async def _list(self, kind: str) -> Objects:
        return await Lister(self.client, await self._find(self._class_of(kind))).read()

    def get(self, kind: str, key: str) -> Any | None:
        """Return the object as the watch shows it if the kind is followed, else as the server has it."""
        if self.follows(kind):
            return self._lookup(kind, key)
        return self.get_latest(kind, key)

    def check_may_write(self) -> None:
        """Raise :class:`NotLeading` if this replica may not write now, once the view is not stale.

        Not to be called on the thread of the loop.
        """
        if self.view.holds:
            self._run(self.view.until_open())
        if self.fence is not None:
            self.fence.check()

    def get_latest(self, kind: str, key: str) -> Any | None:
        """Return the object as the server has it now, or None."""
        return self._run(self._get(kind, key))

    async def _get(self, kind: str, key: str) -> Any | None:
        resource = await self._find(self._class_of(kind))
        try:
            body = await self.client.request("GET", resource.path_of(key))
            return Decoder(resource.cls, resource.version).one(body)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def follows(self, kind: str) -> bool:
        """Return whether *kind* is watched and its first list is complete."""
        reflector = self._reflectors.get(kind)
        return reflector is not None and reflector.synced.is_set()

    def watch(self, handler: WatchHandler, kinds: Iterable[str] | None = None) -> Subscription:
        """See :class:`ClusterPort`. Returns once the present state of all *kinds* was handed over.

        Raises :class:`SyncError` if that takes longer than ``sync_timeout``; it says what is missing.
        """
        wanted = tuple(kinds) if kinds is not None else ("Pod", "Node")
        subscription = KindSubscription(handler, wanted, self.unsubscribe)
        try:
            self._run(self._subscribe(subscription))
        except BaseException:
            subscription.close()
            raise
        return subscription

    def interrupt(self) -> None:
        """Let :meth:`watch` end at once with ``CancelledError``. Safe to call in a handler of a signal."""
        self._interrupted = True
        if self._syncing is not None:
            self.loop.call_soon_threadsafe(self._syncing.cancel)

    async def _subscribe(self, subscription: KindSubscription) -> None:
        self._syncing = asyncio.current_task()
        if self._interrupted:
            raise asyncio.CancelledError
        try:
            await self._sync(subscription)
        finally:
            self._syncing = None

    async def _sync(self, subscription: KindSubscription) -> None:
        if not self._reflectors:
            self._has_streams = await reach(self.client, self.sync_timeout)
        reflectors = [await self._follow(kind) for kind in subscription.kinds]
        for reflector in reflectors:
            reflector.shown.add_handler(subscription.handler)
        self.view.report()
        await until_synced(reflectors, self.sync_timeout)

    async def _follow(self, kind: str) -> Reflector:
        reflector = self._reflectors.get(kind)
        if reflector is None:
            cls = self._class_of(kind)
            resource = await persistently(lambda: self._find(cls), self.access, self.sync_timeout)
            reflector = self._reflectors[kind] = Reflector(
                self.client, resource, self._has_streams, self.view, self._closed_nodes
            )
            task = self.loop.create_task(reflector.run())
            self._tasks.add(task)
        return reflector

    def unsubscribe(self, subscription: KindSubscription) -> None:
        """Deliver nothing more to its handler."""

        def leave() -> None:
            for kind in subscription.kinds:
                if kind in self._reflectors:
                    self._reflectors[kind].shown.remove_handler(subscription.handler)

        if not self._closed:
            self.loop.call_soon_threadsafe(leave)

    def summary(self) -> str:
        """Return how many objects of each kind the watches show: ``5000 nodes, 12 pods, …``."""
        counts = ((len(each.shown.objects), each.resource.plural) for each in self._reflectors.values())
        return ", ".join(f"{count} {plural}" for count, plural in counts if count)

    def unreadable(self) -> Mapping[str, int]:
        """See :class:`RemoteCluster`."""
        return {kind: len(each.shown.unreadable) for kind, each in list(self._reflectors.items())}

    # ---- writing -----------------------------------------------------------------------------------------

    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """See :class:`RemoteCluster`. Also records the event that the pod was scheduled."""
        return self._wait_or_give(self._bind(pod, node_name))

    async def _bind(self, pod: Pod, node_name: str) -> None:
        await self.binder.bind(pod, node_name)
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
        self._record(pod, "Normal", "Scheduled", note, "Binding")

    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> Awaitable[None] | None:
        """See :class:`RemoteCluster`."""
        return self._wait_or_give(self.writer.patch_pod_status(pod, condition, nominated_node_name))

    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> Awaitable[None] | None:
        """See :class:`RemoteCluster`."""
        return self._wait_or_give(self.writer.evict(pod, condition))

    def create(self, obj: Any) -> Any:
        """See :class:`ClusterPort`."""
        return self._run(self.writer.create(obj))

    def update(self, obj: Any) -> Any:
        """See :class:`ClusterPort`. Only what differs from the version that *obj* was made from is sent."""
        return self._wait_or_give(self.writer.update(obj))

    def delete(self, obj: Any) -> None:
        """See :class:`ClusterPort`."""
        self._run(self.writer.delete(obj))

    def record_event(
        self, obj: Any, type: Literal["Normal", "Warning"], reason: str, message: str, action: str = ""
    ) -> None:
        """Write an event in the background. Never blocks, never fails."""
        if self._thread.is_here():
            self._record(obj, type, reason, message, action)
        elif not self._closed:
            self.loop.call_soon_threadsafe(self._record, obj, type, reason, message, action)

    def _record(self, obj: Any, type: str, reason: str, message: str, action: str) -> None:
        controller = obj.spec.scheduler_name if isinstance(obj, Pod) else "default-scheduler"
        self.recorder.record(
            Occurrence(
                reference_to(obj), type, reason, message, action or "Scheduling", controller, time.time()
            )
        )

    # ---- the end -----------------------------------------------------------------------------------------

    def abort(self) -> None:
        """End all requests at once: those that wait are not sent, those under way have no known outcome."""
        self._run(self._abort())

    async def _abort(self) -> None:
        self.view.close()
        self._lanes.close()
        await self.client.close()

    def close(self) -> None:
        """Write the last events, end all watches and connections, and the thread. Safe to call twice."""
        if self._closed:
            return
        self._run(self._shut_down())
        self._closed = True
        self._thread.stop()

    async def _shut_down(self) -> None:
        await self.recorder.flush(FLUSH_SECONDS)
        self.view.close()
        self._lanes.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _limit_changed(self) -> None:
        if self.on_limit_change is not None:
            self.on_limit_change(self.binding_limit)

    def _view_changed(self, change: ViewChange) -> None:
        if self.on_view_change is not None:
            self.on_view_change(change)

    # ---- helpers -----------------------------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* on the loop and wait for it in this thread."""
        if self._closed:
            work.close()
            raise ClusterError("the cluster is closed")
        return self._thread.run(work)

    def _wait_or_give(self, work: Coroutine[Any, Any, T]) -> Awaitable[T] | T:
        """Return *work* on the thread of the loop, to be awaited; in any other thread its result."""
        return work if self._thread.is_here() else self._run(work)

    def _lookup(self, kind: str, key: str) -> Any | None:
        reflector = self._reflectors.get(kind)
        return None if reflector is None else reflector.shown.objects.get(key)

    def _class_of(self, kind: str) -> type[ClusterObject]:
        for cls in self.kinds:
            if kind == cls.KIND:
                return cls
        known = known_resource(kind)
        if known is None:
            raise ClusterError(f"{kind} is no kind that scheduling reads; pass its class in kinds")
        return known.cls

    async def _find(self, cls: type[ClusterObject]) -> Resource:
        resource = self._resources.get(cls.KIND)
        if resource is None:
            resource = self._resources[cls.KIND] = await find_resource(self.client, cls)
        return resource
