"""Plugins served as an extender: a scheduler that asks them decides as one that has them."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
pytest.importorskip("starlette", reason="the extra serve is not installed")

import schedframe
from schedframe.api import Taint
from schedframe.serve import HttpServer, Listener
from schedframe.serve import extender as serving
from schedframe.serve.extender import LARGEST_BODY, extender_application
from schedframe.serve.plugin_extender import PluginExtender
from tests.configurations import META
from tests.cycle.build import make_node, make_pod

from .test_bad_servers import config

ONLY = {
    "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "TaintToleration"}]},
    "queueSort": {"enabled": [{"name": "PrioritySort"}]},
    "bind": {"enabled": [{"name": "DefaultBinder"}]},
}


@pytest.fixture
def server() -> Iterator[HttpServer]:
    plugins = PluginExtender({**META, "profiles": [{"plugins": ONLY}]})
    server = HttpServer(extender_application(plugins), Listener())
    server.start()
    yield server
    server.close()
    plugins.close()


def nodes() -> list[schedframe.Node]:
    hard, soft = Taint("dedicated", "db", "NoSchedule"), Taint("slow", "", "PreferNoSchedule")
    return [
        make_node("free", cpu=4),
        make_node("slow", cpu=64, taints=(soft,)),
        make_node("db", taints=(hard,)),
    ]


def post(server: HttpServer, path: str, body: Any) -> Any:
    request = Request(f"{server.url}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return json.load(answer)


def test_a_scheduler_that_asks_decides_as_one_that_has_the_plugins(server: HttpServer) -> None:
    entry = {
        "urlPrefix": server.url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 3,
    }
    without = {"multiPoint": {"disabled": [{"name": "TaintToleration"}]}}
    asking = {**config(entry), "profiles": [{"plugins": without}]}
    with schedframe.Simulation(nodes(), asking) as simulation:
        evaluation = simulation.evaluate(make_pod())
    status = evaluation.statuses["db"]
    assert status is not None
    assert status.reasons == ("node(s) had untolerated taint(s)",)
    assert evaluation.best == schedframe.evaluate(nodes(), make_pod()).best == ["free"]
    assert evaluation.scores[server.url] == {"free": 300, "slow": 0}


@pytest.mark.parametrize(
    ("length", "code"),
    [("²", 400), ("-1", 400), ("", 400), ("9" * 5000, 400), (str(LARGEST_BODY + 1), 413)],
    ids=["power", "negative", "empty", "thousands of digits", "too large"],
)
def test_a_length_that_is_no_number_or_too_large(server: HttpServer, length: str, code: int) -> None:
    """Some ended the connection without an answer."""
    head = f"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(head.encode("latin-1"))
        assert connection.recv(1000).startswith(f"HTTP/1.1 {code} ".encode())


PLENTY = b" " * (1 << 16)


def sent(server: HttpServer, *headers: bytes, body: bytes = PLENTY) -> bytes:
    """Send a request and as much of a body as the server takes; return how its answer begins."""
    head = b"\r\n".join([b"POST /filter HTTP/1.1", b"Host: x", *headers])
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        with suppress(ConnectionError):
            connection.sendall(head + b"\r\n\r\n" + body)
        return connection.recv(12)


CHUNKED, LENGTH = b"Transfer-Encoding: chunked", b"Content-Length: 65536"
IN_CHUNKS = b"10000\r\n" + PLENTY + b"\r\n"


def test_a_body_in_chunks_that_is_too_large(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LARGEST_BODY", 1000)
    assert sent(server, CHUNKED, body=IN_CHUNKS) == b"HTTP/1.1 413"
    assert sent(server, LENGTH) == b"HTTP/1.1 413"


def test_bodies_that_are_too_large_together(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room is free again when the others have their answers, or have gone."""
    monkeypatch.setattr(serving, "MOST_BYTES", 100_000)
    head = b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 10) as first:
        first.sendall(head + PLENTY)
        while sent(server, LENGTH) != b"HTTP/1.1 503":
            pass  # until the server has read the first one
        first.sendall(b" ")
        assert first.recv(12) == b"HTTP/1.1 200"
    assert sent(server, LENGTH) == b"HTTP/1.1 200"
    with socket.create_connection(("127.0.0.1", server.port), 10) as gone:
        gone.sendall(head + PLENTY)
        while sent(server, LENGTH) != b"HTTP/1.1 503":
            pass
    while sent(server, LENGTH) != b"HTTP/1.1 200":
        pass  # until the server has seen that the client is gone


def test_a_body_that_does_not_arrive_in_time(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "BODY_SECONDS", 0.05)
    assert sent(server, LENGTH, body=b"{") == b"HTTP/1.1 408"


@pytest.mark.parametrize("headers", [(LENGTH, CHUNKED), (CHUNKED, LENGTH), (LENGTH, b"Content-Length: 1")])
def test_a_request_whose_end_is_ambiguous_is_refused(server: HttpServer, headers: tuple[bytes, ...]) -> None:
    """A proxy before the server may see another request in its body."""
    assert sent(server, *headers, body=b"0\r\n\r\n") == b"HTTP/1.1 400"


@pytest.mark.parametrize("path", ["/x/filter", "/filter/", "/FILTER", "//filter"])
def test_only_the_four_paths_are_served(server: HttpServer, path: str) -> None:
    with pytest.raises(HTTPError) as caught:
        post(server, path[1:], {"Pod": None})
    assert caught.value.code == 404
    caught.value.close()


def test_a_request_that_is_nested_too_deeply_has_an_error(server: HttpServer) -> None:
    request = Request(f"{server.url}/filter", b'{"Pod":' * 50_000)
    with urlopen(request) as answer:
        assert json.load(answer)["Error"] == "the JSON is nested too deeply"


def test_names_of_nodes_that_were_never_sent_are_an_error(server: HttpServer) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {}}
    answer = post(server, "filter", {"Pod": pod, "NodeNames": ["stranger"]})
    assert answer["Error"].startswith("node stranger is not known here")


@pytest.mark.parametrize(("path", "code"), [("prioritize", 500), ("preempt", 500), ("reserve", 404)])
def test_what_cannot_be_answered(server: HttpServer, path: str, code: int) -> None:
    with pytest.raises(HTTPError) as caught:
        post(server, path, {"Pod": None})
    assert caught.value.code == code
    caught.value.close()


def test_a_cluster_may_be_followed(server: HttpServer) -> None:
    cluster = schedframe.InMemoryCluster()
    for node in nodes():
        cluster.create(node)
    plugins = PluginExtender({**META, "profiles": [{"plugins": ONLY}]}, cluster)
    body = json.dumps({"Pod": {"metadata": {"name": "p"}, "spec": {}}, "NodeNames": ["db", "free"]})
    assert json.loads(plugins.filter(body.encode()))["NodeNames"] == ["free"]
    cluster.apply(make_node("db"))
    assert json.loads(plugins.filter(body.encode()))["NodeNames"] == ["db", "free"]
    plugins.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**META, "profiles": [{"plugins": ONLY}]}))
    command = [sys.executable, "-m", "schedframe", "extender", "--config", str(file), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().rpartition(" ")[2].strip()
        body = {
            "Pod": {"metadata": {"name": "p"}, "spec": {}},
            "Nodes": {"items": [{"metadata": {"name": "n"}}]},
        }
        with urlopen(Request(f"{address}/filter", json.dumps(body).encode())) as answer:
            assert json.load(answer)["Nodes"] == body["Nodes"]
        process.send_signal(number)
        try:
            assert process.wait(30) == 0
        finally:
            process.kill()
