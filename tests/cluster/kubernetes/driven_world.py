"""A whole scheduler behind an API server, in one thread and in virtual time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
from attrs import define, field

from schedframe import Pod, Scheduler, Status
from schedframe.api import Node
from schedframe.cluster import ViewChange
from schedframe.cluster.kubernetes import KubernetesCluster, backoff
from schedframe.cluster.kubernetes.binder import Binder
from schedframe.cluster.kubernetes.client import ApiClient
from schedframe.cluster.kubernetes.credentials import StaticToken
from schedframe.cluster.kubernetes.decoding import Decoder
from schedframe.cluster.kubernetes.fence import Fence
from schedframe.cluster.kubernetes.kubeconfig import Access
from schedframe.cluster.kubernetes.loop_thread import LoopThread
from schedframe.cycle import Tuning, observing
from schedframe.cycle.runtime.asyncio_executor import AsyncioExecutor
from schedframe.state import compare
from schedframe.testing.api_server import ApiServer, Change
from schedframe.testing.virtual_loop import VirtualLoop

EPOCH = 1_700_000_000.0
ROUNDING = 1e-6
"""Seconds to add to a deadline, which has lost digits as seconds since the epoch."""

ENDED = ("Succeeded", "Failed")

Obj = dict[str, Any]


class NoThread(LoopThread):
    """Runs requests on a loop that the test drives in its own thread."""

    def start(self) -> None:
        pass

    def is_here(self) -> bool:
        return asyncio._get_running_loop() is self.loop

    def run(self, work: Any) -> Any:
        assert isinstance(self.loop, VirtualLoop)
        return self.loop.run(work)

    def stop(self) -> None:
        pass


@define(eq=False)
class SentBind:
    """A bind as it left for the server."""

    pod: str
    node_name: str
    node_uid: str
    """That of the node which the view showed when the bind was asked for."""
    as_of: int
    """Version of the nodes at the end of the last staleness of the view."""
    held: bool
    """Whether the view was stale."""


@define(eq=False)
class WatchedClient:
    """Sends binds, and notes each."""

    client: ApiClient
    on_bind: Callable[[str, bytes], None]

    async def request(self, method: str, path: str, body: bytes | None = None, **options: Any) -> bytes:
        if body is not None:
            self.on_bind(path, body)
        return await self.client.request(method, path, body, **options)


@define(eq=False, kw_only=True)
class WatchedBinder(Binder):
    """Notes for each bind the node that the view shows when it is asked for."""

    decided: dict[str, str]
    """Key of a pod → uid of the node."""

    async def bind(self, pod: Pod, node_name: str) -> None:
        node = self.lookup("Node", node_name)
        self.decided[pod.key] = "" if node is None else node.uid
        await super().bind(pod, node_name)


@define(eq=False)
class Audit:
    """A reader of the server's history that was there from the beginning."""

    version: int = 0
    nodes: dict[str, int] = field(factory=dict)
    """Room by node, in thousandths of a CPU."""
    on_node: dict[str, dict[str, int]] = field(factory=lambda: defaultdict(dict))
    """Requests by pod, by node."""
    gone: dict[str, int] = field(factory=dict)
    """Uid of a node → version of its deletion."""

    def check(self, changes: list[Change]) -> None:
        """Check that no change moves a pod, or binds one to a node without room for it."""
        for change in changes:
            self.version = change.version
            if change.kind.kind == "Node":
                self._take_node(change)
            elif change.kind.kind == "Pod":
                self._take_pod(change)

    def _take_node(self, change: Change) -> None:
        if change.new is None:
            self.nodes.pop(change.key, None)
            assert change.old is not None
            self.gone[change.old["metadata"]["uid"]] = change.version
        else:
            self.nodes[change.key] = cpu_of(change.new["status"]["allocatable"].get("cpu", 0))

    def check_sent(self, sent: list[SentBind]) -> None:
        """Check that no bind left on a stale view, or for a node that was gone when it became current."""
        for bind in sent:
            assert not bind.held, f"{bind} was sent while the view was stale"
            assert self.gone.get(bind.node_uid, bind.as_of + 1) > bind.as_of, f"{bind}: the node was gone"

    def _take_pod(self, change: Change) -> None:
        old, new = change.old, change.new
        before, after = node_of(old), node_of(new)
        if new is not None and before:
            assert after == before, f"{change.key} moves from {before} to {after}"
        if before:
            self.on_node[before].pop(change.key, None)
        if new is None or not after or new["status"].get("phase") in ENDED:
            return
        pods = self.on_node[after]
        pods[change.key] = requested(new)
        if not before and after in self.nodes:
            assert sum(pods.values()) <= self.nodes[after], f"{after} holds {pods} of {self.nodes[after]}m"


@define(eq=False)
class DrivenWorld:
    """Server, cluster and scheduler; nothing moves but in :meth:`drive`."""

    config: Any = None
    graceful: bool = False
    """Whether evicted pods live on until :meth:`end_pods`."""
    plugins: Any = None
    fence: Fence | None = None
    loop: VirtualLoop = field(factory=VirtualLoop, init=False)
    server: ApiServer = field(init=False)
    cluster: KubernetesCluster = field(init=False)
    scheduler: Scheduler = field(init=False)
    audit: Audit = field(factory=Audit, init=False)
    faults: list[tuple[Status, Pod | None]] = field(factory=list, init=False)
    sent: list[SentBind] = field(factory=list, init=False)
    """All binds that left for the server."""
    views: list[ViewChange] = field(factory=list, init=False)
    """All changes of the view."""
    _nodes_as_of: int = field(default=0, init=False)
    _decided: dict[str, str] = field(factory=dict, init=False)
    """Key of a pod → uid of the node that it was to be bound to."""

    def __attrs_post_init__(self) -> None:
        backoff._rng.seed(0)
        self.server = ApiServer(clock=self.clock, graceful=self.graceful)
        self.loop.run(self.server.listen())
        token = self.server.config_of("scheduler")["users"][0]["user"]["token"]
        access = Access(self.server.url, StaticToken(f"Bearer {token}"))
        thread = NoThread(self.loop)
        self.cluster = KubernetesCluster(access=access, thread=thread, sync_timeout=1e9, fence=self.fence)
        self.scheduler = Scheduler(
            self.cluster,
            self.config,
            clock=self.clock,
            seed=1,
            plugins=self.plugins,
            tuning=Tuning(verify=1.0),
            observers=[observing(faulted=lambda status, pod: self.faults.append((status, pod)))],
        )
        self._watch_view()
        self._watch_binds()

    def _watch_view(self) -> None:
        post = self.cluster.on_view_change
        assert post is not None

        def change(view: ViewChange) -> None:
            self.views.append(view)
            nodes = self.cluster._reflectors.get("Node")
            if nodes is not None and "Node" not in view.stale:
                self._nodes_as_of = int(nodes._version)
            post(view)

        self.cluster.on_view_change = change

    def _watch_binds(self) -> None:
        binder, view, decided = self.cluster.binder, self.cluster.view, self._decided

        def send(path: str, body: bytes) -> None:
            key = "/".join(path.split("/")[4:7:2])
            name = msgspec.json.decode(body)["target"]["name"]
            self.sent.append(SentBind(key, name, decided[key], self._nodes_as_of, held=view.holds))

        binder.client = WatchedClient(binder.client, send)  # type: ignore[assignment]  # it stands in
        self.cluster.binder = WatchedBinder(
            client=binder.client,
            lanes=binder.lanes,
            lookup=binder.lookup,
            follows=binder.follows,
            view=view,
            on_doubt=binder.on_doubt,
            decided=decided,
        )

    def clock(self) -> float:
        """Seconds since the epoch, in the time of the loop."""
        return EPOCH + self.loop.time()

    # ---- driving -----------------------------------------------------------------------------------------

    def drive(self, seconds: float = 0.0) -> None:
        """Move the time forward by *seconds*, with all that is due until then."""
        end = self.loop.time() + seconds
        while True:
            due = self.loop.pump()
            if self._step():
                continue
            deadline = self.scheduler.next_deadline()
            moments = [due, None if deadline is None else deadline - EPOCH + ROUNDING]
            soon = min((moment for moment in moments if moment is not None), default=None)
            if soon is None or soon > end:
                break
            self.loop.advance_to(soon)
        self.loop.advance_to(end)

    def _step(self) -> bool:
        """Let the scheduler do what it can; return whether that was anything."""
        worked = bool(self.scheduler.core.inbox)
        while self.scheduler.schedule_one() is not None:
            worked = True
        self.scheduler.refresh_conditions()
        return worked or bool(self.scheduler.core.inbox) or self.submitted() > 0

    def submitted(self) -> int:
        """Return how much was given to the loop and has not begun."""
        executor = self.scheduler.core.executor
        assert isinstance(executor, AsyncioExecutor)
        return len(executor._submitted)

    def under_way(self) -> int:
        """Return the number of jobs that are not finished."""
        executor = self.scheduler.core.executor
        assert isinstance(executor, AsyncioExecutor)
        return len(executor._tasks) + len(executor._submitted)

    def close(self) -> None:
        """End everything."""
        self.server.faults.clear()
        self.scheduler.close()
        self.cluster.close()
        self.loop.run(self.server.shut_down())
        self.loop.finish()

    def end_pods(self) -> int:
        """End all pods that are being deleted, as kubelets do; return their number."""
        ending = [each for each in self.server.list("Pod") if "deletionTimestamp" in each["metadata"]]
        for each in ending:
            self.server.delete("Pod", f"{each['metadata']['namespace']}/{each['metadata']['name']}")
        return len(ending)

    # ---- the truth ---------------------------------------------------------------------------------------

    def pods(self) -> dict[str, Obj]:
        """Return the pods of the server by name."""
        return {each["metadata"]["name"]: each for each in self.server.list("Pod")}

    def values(self, kind: str, cls: Any) -> list[Any]:
        """Return the objects of the server as the scheduler reads them."""
        decode = Decoder(cls).one
        return [decode(msgspec.json.encode(each)) for each in self.server.list(kind)]

    def check_history(self) -> None:
        """At every version: a pod has one node for ever, and no node holds more than it has.

        No bind was sent on a stale view, nor for a node, by uid, that was gone before the view was current.
        """
        self.audit.check(self.server.objects.store.since(self.audit.version))
        self.audit.check_sent(self.sent)

    def check_quiet(self) -> None:
        """Nothing is under way, and the caches show what the server has."""
        core = self.scheduler.core
        assert self.under_way() == 0
        assert self.scheduler.binds_under_way() == 0
        assert not core.writes._by_uid
        lanes = self.cluster._lanes
        assert not lanes._begun
        assert not lanes._slow
        assert not any(lanes._waiting)
        pods = [pod for pod in self.values("Pod", Pod) if pod.status.phase not in ENDED]
        nodes = self.values("Node", Node)
        shown = self.cluster._reflectors
        assert shown["Pod"].shown.objects == {pod.key: pod for pod in pods}
        assert shown["Node"].shown.objects == {node.key: node for node in nodes}
        assert not compare(core.cache, nodes, pods)
        assert core.pending == {pod.key: pod for pod in pods if not pod.spec.node_name}
        assert not {state.pod.uid for state in core.cache.pods() if state.assumed} - set(core.binding)


def node_of(pod: Obj | None) -> str:
    """Return the node of a pod, empty without one."""
    return str((pod or {}).get("spec", {}).get("nodeName", ""))


def requested(pod: Obj) -> int:
    """Return the requests of a pod, in thousandths of a CPU."""
    containers = pod["spec"]["containers"]
    return sum(cpu_of(each.get("resources", {}).get("requests", {}).get("cpu", 0)) for each in containers)


def cpu_of(text: Any) -> int:
    """Return an amount in thousandths of a CPU."""
    words = str(text)
    return int(words[:-1]) if words.endswith("m") else int(words) * 1000
