"""The pages over HTTP, with and without TLS and reviews."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import define, field

from schedframe import InMemoryCluster, Scheduler
from schedframe.cycle.inspection import CoreBusy
from schedframe.errors import ClusterError
from schedframe.serve import (
    ApiReviewer,
    Check,
    Endpoints,
    HealthChecks,
    HttpServer,
    Identity,
    Listener,
    application,
    cache_dump,
    compare,
    on_core,
)
from schedframe.serve.access import CACHED_ANSWERS, ExpiringCache, ReviewTimes
from schedframe.serve.pod_resources import pod_limits, pod_resource_metrics
from schedframe.serve.server import is_loopback
from schedframe.serve.tls import self_signed
from tests.cluster.kubernetes.scripted import ScriptedClient, refusal, run


def test_a_fault_does_not_end_the_looks_at_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedframe.serve.server.REFRESH_SECONDS", 0.01)
    monkeypatch.setattr("schedframe._base.tls.RETRY_SECONDS", 0.01)
    looks, seen = [], threading.Event()

    def refresh() -> None:
        looks.append(1)
        if len(looks) > 2:
            seen.set()
        raise ValueError("embedded null byte")

    server = HttpServer(application(Endpoints()), Listener(), refresh)
    server.start()
    try:
        assert seen.wait(10), "the thread still looks after a fault"
    finally:
        server.close()


@contextmanager
def serving(app: Any, tls: ssl.SSLContext | None = None) -> Iterator[HttpServer]:
    server = HttpServer(app, Listener(tls=tls))
    server.start()
    try:
        yield server
    finally:
        server.close()


def get(server: HttpServer, path: str, token: str | None = None, method: str = "GET") -> tuple[int, str]:
    if server.listener.tls is None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    else:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    try:
        connection.request(method, path, headers={} if token is None else {"Authorization": token})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_pages() -> None:
    checks = HealthChecks(ready=[Check("leader", lambda: "none")])
    endpoints = Endpoints(
        checks=checks,
        metrics=lambda: b"a 1\n",
        config=lambda: {"kind": "X"},
        queue=lambda: {"active": []},
        profiling=True,
    )
    with serving(application(endpoints)) as server:
        assert get(server, "/livez") == (200, "ok")
        assert get(server, "/healthz?verbose") == (200, "[+]ping ok\nhealthz check passed\n")
        assert get(server, "/readyz")[0] == 500
        assert get(server, "/readyz?exclude=leader") == (200, "ok")
        assert get(server, "/readyz/leader") == (500, "leader failed: none\n")
        assert get(server, "/readyz/ping") == (200, "ok")
        assert get(server, "/readyz/other")[0] == 404
        assert get(server, "/metrics") == (200, "a 1\n")
        assert json.loads(get(server, "/configz")[1]) == {"kind": "X"}
        assert json.loads(get(server, "/debug/queue")[1]) == {"active": []}
        assert get(server, "/debug/cache")[0] == 404
        assert get(server, "/configz", method="POST")[0] == 405
        assert json.loads(get(server, "/version")[1])["minor"] == "36"
        assert "/metrics" in json.loads(get(server, "/")[1])["paths"]
        assert "schedframe-http" in get(server, "/debug/profile?seconds=0.05")[1]
        for seconds in ("x", "", "nan", "inf", "-inf", "-1", "0", "1e-9"):
            assert get(server, f"/debug/profile?seconds={seconds}")[0] == 400, seconds
        assert "schedframe-http" in get(server, "/debug/threads")[1]


def test_profiling_is_off_unless_it_is_asked_for() -> None:
    with serving(application(Endpoints())) as server:
        assert get(server, "/debug/profile")[0] == 404
        assert get(server, "/metrics")[0] == 404


def test_a_port_that_is_taken() -> None:
    with serving(application(Endpoints())) as server:
        second = HttpServer(application(Endpoints()), Listener(port=server.port))
        with pytest.raises(ClusterError, match="cannot be listened on"):
            second.start()


def test_a_certificate_made_at_the_start() -> None:
    pytest.importorskip("cryptography")
    with serving(application(Endpoints()), self_signed("127.0.0.1")) as server:
        assert get(server, "/livez") == (200, "ok")
        plain = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        plain.request("GET", "/livez")
        with pytest.raises((OSError, http.client.HTTPException)):
            plain.getresponse()
        plain.close()


@define(eq=False)
class Reviewer:
    """Knows one token, whose user may read the metrics."""

    asked: list[tuple[str, str, str]] = field(factory=list)

    async def authenticate(self, token: str) -> Identity | None:
        if token == "slow":
            raise ClusterError("no answer")
        return Identity("prometheus") if token == "good" else None

    async def may(self, user: Identity, verb: str, path: str) -> bool:
        self.asked.append((user.name, verb, path))
        return user.name == "prometheus" and path == "/metrics"


def test_reviews() -> None:
    reviewer = Reviewer()
    app = application(Endpoints(metrics=lambda: b"a 1\n", config=dict), reviewer, ("/livez", "/readyz/*"))
    with serving(app) as server:
        assert get(server, "/livez")[0] == 200
        assert get(server, "/readyz/ping")[0] == 200
        assert reviewer.asked == []
        assert get(server, "/readyz")[0] == 403
        forbidden = json.loads(get(server, "/metrics")[1])
        assert forbidden["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'
        assert (forbidden["kind"], forbidden["reason"], forbidden["code"]) == ("Status", "Forbidden", 403)
        assert get(server, "/metrics", "Bearer bad")[0] == 401
        assert get(server, "/livez", "Bearer bad")[0] == 401, "whatever the path, as in kube-scheduler"
        assert get(server, "/metrics", "Basic good")[0] == 403, "a user without a token is anonymous"
        assert get(server, "/metrics", method="HEAD")[0] == 403
        assert ("system:anonymous", "head", "/metrics") in reviewer.asked
        assert get(server, "/metrics", "Bearer good") == (200, "a 1\n")
        assert get(server, "/configz", "Bearer good")[0] == 403
        assert get(server, "/metrics", "Bearer slow")[0] == 503
        assert ("prometheus", "get", "/metrics") in reviewer.asked


def test_the_api_server_is_asked_once_in_a_while() -> None:
    user = {"username": "u", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}
    client = ScriptedClient(
        [
            {"status": {"authenticated": True, "user": user}},
            {"status": {"allowed": True}},
            {"status": {"allowed": False}},
            {"status": {"authenticated": False}},
            refusal(500),
        ]
    )
    now = [0.0]

    async def work() -> None:
        reviewer = ApiReviewer(client, ReviewTimes(token=10, allowed=5, denied=2))  # type: ignore[arg-type]
        for remembered in (reviewer._tokens, reviewer._access):
            remembered.clock = lambda: now[0]
        known = await reviewer.authenticate("t")
        assert known == Identity("u", "1", ("g",), (("k", ("v",)),))
        assert await reviewer.authenticate("t") == known
        assert await reviewer.may(known, "get", "/metrics")
        assert await reviewer.may(known, "get", "/metrics")
        assert not await reviewer.may(known, "get", "/configz")
        assert len(client.sent) == 3
        now[0] = 10.0
        assert await reviewer.authenticate("t") is None
        with pytest.raises(ClusterError):
            await reviewer.may(known, "get", "/metrics")

    run(work)
    assert client.sent[0].body["spec"] == {"token": "t"}
    assert client.sent[1].body["spec"] == {
        "user": "u",
        "uid": "1",
        "groups": ["g"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


def test_connections_for_reviews_end_with_the_server() -> None:
    closed: list[str] = []

    @define(eq=False)
    class Client:
        name: str

        async def close(self) -> None:
            closed.append(self.name)

    clients: list[Any] = [Client("tokens"), Client("access")]
    reviewer = ApiReviewer(clients[0], access_client=clients[1])
    app = application(Endpoints(), reviewer)
    server = HttpServer(app, Listener(), on_close=reviewer.close)
    server.start()
    assert get(server, "/livez")[0] == 200
    assert closed == []
    server.close()
    assert closed == ["tokens", "access"]


def test_few_answers_are_remembered() -> None:
    remembered: ExpiringCache[int] = ExpiringCache(lambda: 0.0)
    for number in range(CACHED_ANSWERS + 2):
        remembered.put(number, number, 1.0)
    assert [remembered.get(number) for number in (0, 1, 2)] == [None, None, (2,)]


def test_loopback() -> None:
    assert all(is_loopback(each) for each in ("127.0.0.1", "127.8.0.1", "::1", "localhost"))
    assert not any(is_loopback(each) for each in ("0.0.0.0", "::", "10.0.0.1", "example.com", ""))


def test_the_state_of_a_scheduler() -> None:
    cluster = InMemoryCluster()
    room = {"cpu": "2", "memory": "8Gi", "pods": "10"}
    cluster.create({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}})
    requests = {"cpu": "500m"}
    container = {"name": "c", "resources": {"requests": requests}}
    for name in ("a", "b"):
        cluster.create({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})
    with Scheduler(cluster) as scheduler:
        scheduler.run_until_idle()
        dump = cache_dump(scheduler)
        assert (dump["pods"], dump["assumed"], dump["nodes"][0]["pods"]) == (2, [], 2)
        assert dump["nodes"][0]["requested"]["cpu"] == 1000
        assert compare(scheduler)["equal"]
        cluster.create({"kind": "Node", "metadata": {"name": "m"}, "status": {"allocatable": room}})
        assert compare(scheduler) == {
            "equal": False,
            "nodes": {"missing": ["m"], "redundant": []},
            "pods": {"missing": [], "redundant": []},
        }
        with pytest.raises(CoreBusy):
            on_core(scheduler, lambda: 1, 0.01)
        thread = threading.Thread(target=scheduler.run)
        thread.start()
        assert on_core(scheduler, lambda: compare(scheduler)["equal"])
        with pytest.raises(ZeroDivisionError):
            on_core(scheduler, lambda: 1 / 0)
        scheduler.stop()
        thread.join(5)


def test_resources_of_pods() -> None:
    cluster = InMemoryCluster()
    container = {
        "name": "c",
        "resources": {"requests": {"cpu": "250m", "example.com/gpu": "1"}, "limits": {"memory": "1Gi"}},
    }
    starting = {"name": "i", "resources": {"limits": {"memory": "3Gi", "cpu": "1"}}}
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"limits": {"memory": "1Gi"}}}
    spec = {
        "containers": [container],
        "initContainers": [sidecar, starting],
        "overhead": {"memory": "1Gi", "ephemeral-storage": "1"},
        "priority": 7,
    }
    cluster.create({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    ended = {"kind": "Pod", "metadata": {"name": "q"}, "spec": spec, "status": {"phase": "Succeeded"}}
    cluster.create(ended)
    lines = pod_resource_metrics(cluster.list("Pod")).decode().splitlines()
    shared = 'namespace="default",node="",pod="p",priority="7"'
    own = 'scheduler="default-scheduler"'
    assert [line for line in lines if not line.startswith("#")] == [
        f'kube_pod_resource_request{{{shared},resource="cpu",{own},unit="cores"}} 0.25',
        f'kube_pod_resource_request{{{shared},resource="ephemeral-storage",{own},unit="bytes"}} 1',
        f'kube_pod_resource_request{{{shared},resource="example.com/gpu",{own},unit="integer"}} 1',
        f'kube_pod_resource_request{{{shared},resource="memory",{own},unit="bytes"}} 1073741824',
        f'kube_pod_resource_limit{{{shared},resource="cpu",{own},unit="cores"}} 1',
        f'kube_pod_resource_limit{{{shared},resource="memory",{own},unit="bytes"}} {5 << 30}',
    ]


def test_limits_of_a_whole_pod_replace_those_of_its_containers() -> None:
    cluster = InMemoryCluster()
    spec = {
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "1", "example.com/gpu": "0"}}}],
        "resources": {"limits": {"cpu": "4", "memory": "1Gi"}},
        "overhead": {"memory": "1Gi", "example.com/gpu": "1"},
    }
    cluster.create({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    (pod,) = cluster.list("Pod")
    amounts = {name: str(amount) for name, amount in pod_limits(pod).items()}
    assert amounts == {"cpu": "4", "memory": str(2 << 30), "example.com/gpu": "0"}, (
        "no overhead on a limit of 0"
    )
