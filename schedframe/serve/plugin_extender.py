"""The plugins of a profile as an extender, for a scheduler that is not this one, such as kube-scheduler.

The other scheduler sends a pod and the nodes that it found feasible; filter and score plugins answer. They
see the cluster through the same columns as in a scheduler of their own: a real cluster is watched, otherwise
there are just the nodes of the requests, without pods. To bind and to preempt needs a cluster.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field

from .._base.value import record
from ..api import Node, Pod, PodDisruptionBudget
from ..cluster import ClusterPort, InMemoryCluster, OutcomeUnknown
from ..config import ConfigSource
from ..cycle import Scheduler
from ..cycle.binding.outcome import read_outcome
from ..errors import ClusterError, InputError
from ..extenders import wire
from ..framework import (
    MAX_EXTENDER_PRIORITY,
    MAX_SCORE,
    Code,
    CycleState,
    ExtenderError,
    Framework,
    Status,
    VictimUids,
)
from ..framework.passing import PluginsToPass
from ..framework.preemption.budgets import read_budgets
from ..state import Rows
from .victims import further_victims


@record(eq=False)
class PluginExtender:
    """Answers the requests of a scheduler by plugins. Safe to call in any thread.

    The plugins are those of the profile with the scheduler name of the pod, or else of the first profile.
    Raises :class:`ConfigError` for a configuration that is refused.
    """

    config: ConfigSource = None
    cluster: ClusterPort | None = None
    """The cluster to follow; ``None``: nodes come with the requests."""
    plugins: PluginsToPass | None = None
    """As for :class:`Scheduler`."""
    allow_imports: str | Iterable[str] = ()
    """As for :class:`Scheduler`."""
    _scheduler: Scheduler = field(init=False)
    _sent: InMemoryCluster | None = field(default=None, init=False)
    """Takes the nodes of requests, where no cluster is followed."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        cluster = self.cluster
        if cluster is None:
            cluster = self._sent = InMemoryCluster(strict=False)
        self._scheduler = Scheduler(
            cluster, self.config, plugins=self.plugins, allow_imports=self.allow_imports
        )
        self._scheduler.sync()

    def close(self) -> None:
        """Close the plugins, and stop following the cluster."""
        with self._lock:
            self._scheduler.close()

    # ---- requests ----------------------------------------------------------------------------------------

    def filter(self, body: bytes) -> bytes:
        """Return the answer to a request to filter; a fault of a plugin is its ``Error``."""
        try:
            request = _Request.read(body)
            with self._lock:
                answer = self._filtered(request)
        except (ExtenderError, InputError) as error:
            answer = {"Error": str(error)}
        return wire.encode(answer)

    def prioritize(self, body: bytes) -> bytes:
        """Return the answer to a request to prioritize. Raises :class:`ExtenderError` if a plugin fails."""
        request = _Request.read(body)
        with self._lock:
            scores = self._scores(request)
        return wire.encode([{"Host": name, "Score": score} for name, score in scores.items()])

    def bind(self, body: bytes) -> bytes:
        """Return the answer to a request to bind; why the pod could not be bound is its ``Error``.

        The bind plugins are called, with an empty cycle state and without the hooks before and after, if the
        filters still accept the node. The pod counts there from then on.
        """
        try:
            self._bind(wire.read_binding_args(body))
        except (ExtenderError, InputError, ClusterError) as error:
            return wire.encode({"Error": str(error)})
        return wire.encode({"Error": ""})

    def preempt(self, body: bytes) -> bytes:
        """Return the answer to a request to preempt.

        A node remains if the plugins accept the pod there without the victims. Where they do not, further
        pods of lower priority become victims, if that helps. Raises :class:`ExtenderError` if a plugin fails.
        """
        pod, victims = wire.read_preemption_args(body)
        with self._lock:
            left = self._preempted(pod, victims)
        return wire.preemption_result(left)

    # ---- answers -----------------------------------------------------------------------------------------

    def _filtered(self, request: _Request) -> dict[str, Any]:
        framework, rows = self._begin(request)
        state = CycleState()
        outcome = framework.run_pre_filter(state, request.pod)
        names = rows.names()
        rejected: dict[str, Status] = {}
        if outcome.status is not None:
            rejected = dict.fromkeys(names, _checked(outcome.status))
        else:
            verdicts = framework.filter_rows(state, request.pod, rows)
            allowed = outcome.node_names
            for i, name in enumerate(names):
                status = verdicts.status_at(i)
                if status is None and allowed is not None and name not in allowed:
                    status = outcome.absent_status
                if status is not None:
                    rejected[name] = _checked(status)
        hard = {n: s.message for n, s in rejected.items() if s.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE}
        answer: dict[str, Any] = {
            "FailedNodes": {n: s.message for n, s in rejected.items() if n not in hard},
            "FailedAndUnresolvableNodes": hard,
        }
        kept = [name for name in names if name not in rejected]
        if request.nodes is None:
            return {"NodeNames": kept, **answer}
        whole = {document["metadata"]["name"]: document for document in request.documents}
        return {"Nodes": {"items": [whole[name] for name in kept]}, **answer}

    def _scores(self, request: _Request) -> dict[str, int]:
        """Return the scores by node, from 0 to 10: the share of what all plugins together could give."""
        framework, rows = self._begin(request)
        state = CycleState()
        most = MAX_SCORE * sum(entry.weight for entry in framework.plan.score)
        outcome = framework.run_pre_filter(state, request.pod)
        if outcome.status is not None or not most:
            return dict.fromkeys(rows.names(), 0)
        error = framework.run_pre_score(state, request.pod, rows)
        scores = framework.run_scores(state, request.pod, rows) if error is None else error
        if isinstance(scores, Status):
            raise ExtenderError(scores.message)
        scaled = (scores.total * MAX_EXTENDER_PRIORITY + most // 2) // most
        return dict(zip(rows.names(), scaled.tolist(), strict=True))

    def _bind(self, request: wire.BindingArgs) -> None:
        """Call the bind plugins. Raises :class:`ExtenderError` if the pod is not bound then."""
        cluster, cache = self._followed("bind"), self._scheduler.core.cache
        pod = cluster.get(Pod.KIND, f"{request.namespace}/{request.name}")
        if pod is None or pod.uid != request.uid:
            raise ExtenderError(f"pod {request.namespace}/{request.name} with uid {request.uid!r} is gone")
        framework, node_name = self._framework_of(pod), request.node_name
        assumed = pod.with_node_name(node_name)
        with self._lock:
            self._check_room(framework, pod, node_name)
            if pod.uid not in cache:
                cache.assume_pod(assumed)
        # Not under the lock: bind plugins may take their time.
        status = framework.run_bind(CycleState(), assumed, node_name)
        if status is not None and isinstance(status.error, OutcomeUnknown):
            status = read_outcome(cluster, assumed, node_name)
        if status is not None:
            with self._lock:
                cache.forget_pod(assumed)
            raise ExtenderError(status.message)

    def _check_room(self, framework: Framework, pod: Pod, node_name: str) -> None:
        """Raise :class:`ExtenderError` if the plugins no longer accept the pod on the node.

        The other scheduler goes on to the next pod while it binds: several pods were offered the same room
        before the first of them arrived there.
        """
        self._scheduler.sync()
        state = CycleState()
        outcome = framework.run_pre_filter(state, pod)
        status = outcome.status
        if status is None:
            info = self._scheduler.core.cache.table.info(self._row(node_name))
            status = framework.run_filters_with_nominated_pods(state, pod, info)
        if status is not None:
            raise ExtenderError(f"node {node_name} does not fit any more: {status.message}")

    def _preempted(self, pod: Pod, offered: Mapping[str, VictimUids]) -> dict[str, VictimUids]:
        self._followed("preempt")
        self._scheduler.sync()
        core, framework, state = self._scheduler.core, self._framework_of(pod), CycleState()
        outcome = framework.run_pre_filter(state, pod)
        if outcome.status is not None:
            _checked(outcome.status)
            return {}
        budgets = read_budgets(core.objects.list(PodDisruptionBudget.KIND))
        left = {}
        for name, victims in offered.items():
            if outcome.node_names is not None and name not in outcome.node_names:
                continue
            info = core.cache.table.info(self._row(name)).clone()
            found = further_victims(framework, state.clone(), pod, info, budgets, victims)
            if isinstance(found, VictimUids):
                left[name] = found
            else:
                _checked(found)
        return left

    # ---- nodes and plugins -------------------------------------------------------------------------------

    def _begin(self, request: _Request) -> tuple[Framework, Rows]:
        """Return the plugins and the nodes of a request, after the news of the cluster."""
        if self._sent is not None:
            for node in request.nodes or ():
                known = self._sent.get(Node.KIND, node.name)
                if known is None or known != node:
                    self._sent.apply(node)
        self._scheduler.sync()
        rows = np.array([self._row(name) for name in request.names], np.intp)
        return self._framework_of(request.pod), Rows.at(self._scheduler.core.cache.table, rows)

    def _row(self, name: str) -> int:
        row = self._scheduler.core.cache.table.live_row(name)
        if row is None:
            fix = "follow the cluster, or set nodeCacheCapable: false"
            raise ExtenderError(f"node {name} is not known here; {fix}")
        return row

    def _framework_of(self, pod: Pod) -> Framework:
        frameworks = self._scheduler.core.frameworks
        return frameworks.get(pod.spec.scheduler_name) or next(iter(frameworks.values()))

    def _followed(self, verb: str) -> ClusterPort:
        if self.cluster is None:
            raise ExtenderError(f"{verb} needs a cluster to follow; none was given")
        return self.cluster


def _checked(status: Status) -> Status:
    """Return a rejection. Raises :class:`ExtenderError` for an error."""
    if status.is_rejected:
        return status
    raise ExtenderError(status.message)


@record
class _Request:
    """A request to filter or to prioritize."""

    pod: Pod
    nodes: Sequence[Node] | None
    """``None`` if names were sent."""
    documents: Sequence[Mapping[str, Any]]
    """The nodes as they came."""
    names: Sequence[str]

    @classmethod
    def read(cls, body: bytes) -> _Request:
        """Return the request in *body*. Raises :class:`ExtenderError`."""
        arguments = wire.members(wire.read_json(body), "the request")
        pod = wire.read_pod(arguments.get("pod"))
        given = arguments.get("nodes")
        if given is None:
            listed = wire.items(arguments.get("nodenames"), "NodeNames")
            return cls(pod, None, (), [wire.text(each, "NodeNames") for each in listed])
        documents = wire.items(wire.members(given).get("items"), "Nodes.items")
        nodes = wire.read_nodes(given)
        return cls(pod, nodes, documents, [node.name for node in nodes])
