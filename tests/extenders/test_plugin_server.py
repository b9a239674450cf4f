"""Plugins served as an extender: a scheduler that asks them decides as one that has them."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import schedframe
from schedframe.api import Taint
from schedframe.embed.extender_server import MAX_BODY, ExtenderServer, PluginExtender
from tests.configurations import META
from tests.cycle.build import make_node, make_pod

from .test_bad_servers import config

ONLY = {
    "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "TaintToleration"}]},
    "queueSort": {"enabled": [{"name": "PrioritySort"}]},
    "bind": {"enabled": [{"name": "DefaultBinder"}]},
}


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    plugins = PluginExtender({**META, "profiles": [{"plugins": ONLY}]})
    server = ExtenderServer(plugins)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
    plugins.close()


def nodes() -> list[schedframe.Node]:
    hard, soft = Taint("dedicated", "db", "NoSchedule"), Taint("slow", "", "PreferNoSchedule")
    return [
        make_node("free", cpu=4),
        make_node("slow", cpu=64, taints=(soft,)),
        make_node("db", taints=(hard,)),
    ]


def url(server: ExtenderServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def post(server: ExtenderServer, path: str, body: Any) -> Any:
    request = Request(
        f"{url(server)}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request) as answer:
        return json.load(answer)


def test_a_scheduler_that_asks_decides_as_one_that_has_the_plugins(server: ExtenderServer) -> None:
    entry = {
        "urlPrefix": url(server),
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
    assert evaluation.scores[url(server)] == {"free": 300, "slow": 0}


@pytest.mark.parametrize(
    ("length", "code"),
    [("²", 411), ("-1", 411), ("", 411), ("9" * 5000, 413), (str(MAX_BODY + 1), 413)],
    ids=["power", "negative", "empty", "thousands of digits", "too large"],
)
def test_a_length_that_is_no_number_or_too_large(server: ExtenderServer, length: str, code: int) -> None:
    """Some ended the connection without an answer."""
    head = f"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), 10) as connection:
        connection.sendall(head.encode("latin-1"))
        assert connection.recv(1000).startswith(f"HTTP/1.1 {code} ".encode())


def test_a_request_that_is_nested_too_deeply_has_an_error(server: ExtenderServer) -> None:
    request = Request(f"{url(server)}/filter", b'{"Pod":' * 50_000)
    with urlopen(request) as answer:
        assert json.load(answer)["Error"] == "the JSON is nested too deeply"


def test_names_of_nodes_that_were_never_sent_are_an_error(server: ExtenderServer) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {}}
    answer = post(server, "filter", {"Pod": pod, "NodeNames": ["stranger"]})
    assert answer["Error"].startswith("node stranger is not known here")


@pytest.mark.parametrize(("path", "code"), [("prioritize", 500), ("preempt", 500), ("reserve", 404)])
def test_what_cannot_be_answered(server: ExtenderServer, path: str, code: int) -> None:
    with pytest.raises(HTTPError) as caught:
        post(server, path, {"Pod": None})
    assert caught.value.code == code
    caught.value.close()


def test_a_cluster_may_be_followed(server: ExtenderServer) -> None:
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
