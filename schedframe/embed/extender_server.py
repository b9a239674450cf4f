"""The plugins of a profile as an extender, for a scheduler that is not this one, such as kube-scheduler.

The other scheduler asks about a pod and the nodes that it found feasible; filter and score plugins answer.
They see the cluster through the same columns as in a scheduler of their own: a real cluster is watched,
otherwise there are just the nodes of the requests, without pods.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from attrs import define, field

from .._brief import brief_repr
from ..api import Node, Pod
from ..cluster import ClusterPort, InMemoryCluster
from ..config import ConfigSource
from ..cycle import Scheduler
from ..errors import InputError
from ..extenders import wire
from ..framework import MAX_EXTENDER_PRIORITY, MAX_SCORE, Code, CycleState, ExtenderError, Framework, Status
from ..state import Rows

MAX_BODY = 1 << 28
"""Bytes of a request; whole nodes of the largest clusters take some ten MB."""


@brief_repr
@define(eq=False)
class PluginExtender:
    """Answers requests to filter and to prioritize by plugins. Safe to call in any thread.

    The plugins are those of the profile with the scheduler name of the pod, or else of the first profile.
    Raises :class:`ConfigError` for a configuration that is refused.
    """

    config: ConfigSource = None
    cluster: ClusterPort | None = None
    """The cluster to follow; ``None``: nodes come with the requests."""
    _scheduler: Scheduler = field(init=False)
    _sent: InMemoryCluster | None = field(default=None, init=False)
    """Takes the nodes of requests, where no cluster is followed."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        cluster = self.cluster
        if cluster is None:
            cluster = self._sent = InMemoryCluster(strict=False)
        self._scheduler = Scheduler(cluster, self.config)
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

    # ---- answers -----------------------------------------------------------------------------------------

    def _filtered(self, request: _Request) -> dict[str, Any]:
        framework, state, rows = self._begin(request)
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
        framework, state, rows = self._begin(request)
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

    def _begin(self, request: _Request) -> tuple[Framework, CycleState, Rows]:
        core = self._scheduler.core
        if self._sent is not None:
            for node in request.nodes or ():
                known = self._sent.get("Node", node.name)
                if known is None or known != node:
                    self._sent.apply(node)
        self._scheduler.sync()
        names = [node.name for node in request.nodes] if request.nodes is not None else request.names
        positions = []
        for name in names:
            row = core.cache.table.live_row(name)
            if row is None:
                fix = "follow the cluster, or set nodeCacheCapable: false"
                raise ExtenderError(f"node {name} is not known here; {fix}")
            positions.append(row)
        frameworks = core.frameworks
        framework = frameworks.get(request.pod.spec.scheduler_name) or next(iter(frameworks.values()))
        return framework, CycleState(), Rows.at(core.cache.table, np.array(positions, np.intp))


def _checked(status: Status) -> Status:
    """Return a rejection. Raises :class:`ExtenderError` for an error."""
    if status.is_rejected:
        return status
    raise ExtenderError(status.message)


@define
class _Request:
    """A request to filter or to prioritize."""

    pod: Pod
    nodes: Sequence[Node] | None
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
            names = [
                wire.text(each, "NodeNames") for each in wire.items(arguments.get("nodenames"), "NodeNames")
            ]
            return cls(pod, None, (), names)
        documents = wire.items(wire.members(given).get("items"), "Nodes.items")
        return cls(pod, wire.read_nodes(given), documents, ())


class ExtenderServer(ThreadingHTTPServer):
    """Serves a :class:`PluginExtender` at ``/filter`` and ``/prioritize``, without TLS."""

    daemon_threads = True

    def __init__(self, extender: PluginExtender, address: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((address, port), _Handler)
        self.extender = extender


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ExtenderServer

    def do_POST(self) -> None:
        """Answer a request to filter or to prioritize."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            self._answer(HTTPStatus.LENGTH_REQUIRED, b"")
            return
        body = self.rfile.read(int(length))
        call = {"filter": self.server.extender.filter, "prioritize": self.server.extender.prioritize}.get(
            self.path.rstrip("/").rpartition("/")[2]
        )
        if call is None:
            self._answer(HTTPStatus.NOT_FOUND, b"")
            return
        try:
            answer = call(body)
        except (ExtenderError, InputError) as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode())
        else:
            self._answer(HTTPStatus.OK, answer)

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the other scheduler logs what it asks."""
