"""``schedframe run`` up to the cluster: options, exit codes, logs, probes."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.cli.main import run
from schedframe.cli.run.health import HealthServer
from schedframe.cli.run.logs import DecisionLog, LogFormat, set_up
from schedframe.cli.run.status import StatusDisplay
from schedframe.errors import ClusterError

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")


def unreachable(folder: Path) -> Path:
    file = folder / "kubeconfig"
    file.write_text(
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
    )
    return file


def test_no_kubeconfig(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--kubeconfig", "/absent"]) == 3
    assert "kubeconfig /absent does not exist; name a file" in capsys.readouterr().err


def test_a_cluster_that_cannot_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--kubeconfig", str(unreachable(tmp_path)), "--sync-timeout", "0"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("schedframe: http://127.0.0.1:1 cannot be reached")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_cluster_was_read(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "schedframe", "run", "--kubeconfig", str(unreachable(tmp_path))]
    with subprocess.Popen([*command, "--log-format", "json"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "cannot be reached, trying again" in line:
                break
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(20) == 0
    assert [json.loads(line)["message"] for line in rest.splitlines()] == [
        f"{number.name}: ending",
        "nothing was scheduled yet",
        "ended",
    ]


def test_a_line_of_status(capsys: pytest.CaptureFixture[str]) -> None:
    set_up(LogFormat.TEXT, 0)
    clock = VirtualClock()
    cluster = InMemoryCluster(clock=clock)
    counted = SimpleNamespace(binder=SimpleNamespace(bound=0))
    display = StatusDisplay(counted, on_terminal=False)  # type: ignore[arg-type]  # all that it reads
    with Scheduler(cluster, clock=clock, observers=[display]) as scheduler:
        display.begin(scheduler)
        cluster.create({"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}})
        for _ in range(3):
            counted.binder.bound = 60
            clock.advance(30.0)
            scheduler.run_until_idle()
    lines = [line for line in capsys.readouterr().err.splitlines() if "status" in line]
    assert len(lines) == 1  # what stays the same is not said again
    assert "status bound=60 rate=2.0/s binding=0" in lines[0]


@pytest.mark.parametrize("form", LogFormat)
def test_a_record_is_one_line_whatever_its_fields_are(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message of an error may have line breaks, and no blank."""
    set_up(form, 0)
    why = "refused\n2026-01-31T12:00:00Z\tINFO\x1b[0m"
    logging.getLogger("schedframe").info("failed", extra={"why": why, "pod": "default/a"})
    (line,) = capsys.readouterr().err.splitlines()
    if form is LogFormat.JSON:
        assert json.loads(line)["why"] == why
    else:
        assert line.endswith(f"failed why={json.dumps(why)} pod=default/a")


def test_bad_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--leader-elect", "maybe"]) == 2
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: a}, {schedulerName: b}]\n"
    )
    assert run(["run", "--config", str(config), "--scheduler-name", "c"]) == 2
    assert "--scheduler-name: the configuration has 2 profiles; name them in it" in capsys.readouterr().err


def test_options_are_those_of_the_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    for option in (
        "--kubeconfig",
        "--config",
        "--master",
        "--seed",
        "--grace",
        "--secure-port",
        "--log-format",
    ):
        assert option in shown


@pytest.mark.parametrize("form", LogFormat)
def test_one_line_a_decision(form: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(form, 1)
    cluster = InMemoryCluster()
    room = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    cluster.create({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}})
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "700m"}}}]}
    for name in ("a", "b"):
        cluster.create({"kind": "Pod", "metadata": {"name": name}, "spec": spec})
    with Scheduler(cluster, observers=[DecisionLog(logging.getLogger("schedframe.run"))]) as scheduler:
        scheduler.run_until_idle()
    lines = [line for line in capsys.readouterr().err.splitlines() if "default/" in line]
    if form is LogFormat.JSON:
        read = [json.loads(line) for line in lines]
        assert [(each["message"], each["pod"], each.get("node")) for each in read] == [
            ("placed", "default/a", "n"),
            ("no node", "default/b", None),
        ]
        assert read[1]["why"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    else:
        assert lines[0].endswith("INFO    placed pod=default/a attempt=1 node=n")
        assert 'no node pod=default/b attempt=1 why="0/1 nodes are available: 1 Insufficient cpu.' in lines[1]


@contextmanager
def probed(ready: Callable[[], bool]) -> Iterator[tuple[HealthServer, int]]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = HealthServer(0, loop, ready)
    server.start()
    try:
        assert server._server is not None
        yield server, server._server.sockets[0].getsockname()[1]
    finally:
        server.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def health(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        return b"".join(iter(partial(connection.recv, 4096), b""))


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_many_connections_end_no_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedframe.cli.run.health.MOST_CONNECTIONS", 8)
    with probed(lambda: True) as (_, port), ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5)) for _ in range(20)
        ]
        assert health(port).startswith(b"HTTP/1.1 200")
        assert is_closed(clients[0]), "the oldest is closed first"
        clients[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            clients[-1].recv(1)


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: "])
def test_a_probe_that_does_not_arrive_ends_its_connection(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedframe.cli.run.health.REQUEST_SECONDS", 0.1)
    with probed(lambda: True) as (server, port):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(sent)
            assert is_closed(connection)
        assert not server._connections


def test_what_is_no_probe_ends_its_connection() -> None:
    with probed(lambda: True) as (_, port):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            with suppress(ConnectionError):
                connection.sendall(b"x" * 100_000)
            assert is_closed(connection)
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"\x16\x03\r\n\r\n")
            assert b"HTTP/1.1 405" in connection.recv(100)
        assert health(port).startswith(b"HTTP/1.1 200")


def test_probes() -> None:
    ready = [False]
    with probed(lambda: ready[0]) as (server, port):

        def ask(path: str) -> int:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                return error.code

        assert [ask(path) for path in ("/healthz", "/livez?verbose", "/readyz", "/other")] == [
            200,
            200,
            503,
            404,
        ]
        ready[0] = True
        assert ask("/readyz") == 200
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"HEAD /healthz HTTP/1.1\r\n\r\n")
            answer = b"".join(iter(partial(connection.recv, 4096), b""))
        assert b"Content-Length: 2\r\n" in answer
        assert answer.endswith(b"\r\n\r\n"), "an answer to HEAD has no body"
        with pytest.raises(ClusterError, match="cannot be listened on"):
            HealthServer(port, server.loop, lambda: True).start()
