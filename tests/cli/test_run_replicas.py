"""``schedframe run`` as a process, against an API server in this one: replicas, the log, and open ports."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

from schedframe import Scheduler
from schedframe.api import parse_time
from schedframe.cli.run.leadership import is_for_want_of_the_lease
from schedframe.cluster.kubernetes import KubernetesCluster
from schedframe.cluster.kubernetes.fence import Fence
from schedframe.cycle import observing
from schedframe.testing import node, pod
from schedframe.testing.api_server import ApiServer

LEASE = "kube-system/kube-scheduler"
SHORT = ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s"]
SHORT += ["--leader-elect-retry-period=500ms"]


def wait_for_line(process: subprocess.Popen[str], part: str) -> None:
    """Read the log up to a line that contains *part*."""
    assert process.stderr is not None
    assert any(part in line for line in process.stderr), f"the log ended without {part!r}"


def holder(server: ApiServer) -> str | None:
    lease = server.get("Lease", LEASE)
    return None if lease is None else lease["spec"]["holderIdentity"]


def leases_written(server: ApiServer) -> Iterator[dict[str, Any]]:
    for each in server.requests:
        if each.resource == "leases" and each.body is not None:
            yield each.body["spec"]


def holder_of(spec: dict[str, Any]) -> str:
    return str(spec["holderIdentity"])


def bound(server: ApiServer, count: int) -> bool:
    return sum(bool(each["spec"].get("nodeName")) for each in server.list("Pod")) == count


@contextmanager
def replica(kubeconfig: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "schedframe", "run", "--kubeconfig", str(kubeconfig), *SHORT, *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def listening_ports(pid: int) -> list[str]:
    """Return the TCP sockets that a process listens on; on Linux only."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
        except OSError:
            continue  # closed since
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]


def test_the_next_replica_takes_over_when_the_leader_ends(tmp_path: Path) -> None:
    with ApiServer() as server:
        server.create(node("n").allocatable(cpu="8", memory="8Gi", pods="50"))
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        with replica(kubeconfig, "-vv") as first:
            identity = server.wait_for(lambda: holder(server))
            server.create(pod("a").requests(cpu="100m"))
            server.wait_for(lambda: bound(server, 1))
            if sys.platform == "linux":
                assert listening_ports(first.pid) == []
            with replica(kubeconfig) as second:
                wait_for_line(second, "is held by")
                first.send_signal(signal.SIGTERM)
                assert first.wait(10) == 0
                server.create(pod("b").requests(cpu="100m"))
                server.wait_for(lambda: bound(server, 2))
                # It was given back, and the second one did not wait for its end.
                written = [next(group) for _, group in groupby(leases_written(server), key=holder_of)]
                assert [holder_of(each) for each in written] == [identity, "", holder(server)]
                given_back, taken = (parse_time(each["renewTime"]) for each in written[1:])
                assert taken - given_back < 4.0
                assert holder(server) not in ("", identity)
                second.send_signal(signal.SIGTERM)
                assert second.wait(10) == 0
            assert holder(server) == ""
            assert first.stderr is not None
            log = first.stderr.read()
        binds = [each for each in server.requests if each.resource == "pods/binding"]
        assert [each.status for each in binds] == [201, 201]
        assert "scheduling begins" in log
        events = [each for each in server.list("Event") if each["reason"] == "LeaderElection"]
        assert [each["regarding"]["name"] for each in events] == ["kube-scheduler"] * 2
        assert events[0]["note"].endswith("became leader")
        assert server.access.users
        assert not [token for token in server.access.users if token in log]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")
@pytest.mark.slow
def test_a_refused_configuration_is_an_event_about_the_lease(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config.write_text(head)
    with ApiServer() as server:
        server.create(node("n").allocatable(cpu="8", memory="8Gi", pods="50"))
        server.create(pod("a").requests(cpu="100m"))
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        with replica(kubeconfig, "--config", str(config)) as process:
            server.wait_for(lambda: bound(server, 1))
            config.write_text(f"{head}podInitialBackoffSeconds: -3\n")
            process.send_signal(signal.SIGHUP)

            def refusals() -> list[dict[str, Any]]:
                return [each for each in server.list("Event") if each["reason"] == "ConfigurationRefused"]

            (event,) = server.wait_for(refusals)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        lease = server.get("Lease", LEASE)
        assert lease is not None
        regarding = {name: event["regarding"][name] for name in ("kind", "namespace", "name", "uid")}
        metadata = lease["metadata"]
        assert regarding == {
            "kind": "Lease",
            "namespace": "kube-system",
            "name": "kube-scheduler",
            "uid": metadata["uid"],
        }
        assert event["type"] == "Warning"
        assert "podInitialBackoffSeconds" in event["note"]


def test_nothing_is_written_while_the_fence_is_closed(tmp_path: Path) -> None:
    fence = Fence()
    faults: list[Any] = []
    with ApiServer() as server:
        server.create(node("n").allocatable(cpu="1", memory="8Gi", pods="50"))
        server.create(pod("a").requests(cpu="600m"))
        server.create(pod("too-large").requests(cpu="5"))
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        with (
            KubernetesCluster.from_kubeconfig(kubeconfig, fence=fence) as cluster,
            Scheduler(
                cluster, observers=[observing(faulted=lambda status, _: faults.append(status))]
            ) as scheduler,
        ):
            scheduler.run_until_idle()
            server.wait_for(lambda: fence.refused >= 2)  # events are gathered before they are sent
            writes = [each for each in server.requests if each.body is not None]
            assert writes == []
            assert faults
            assert all(is_for_want_of_the_lease(status.error) for status in faults)
            fence.extend(fence.clock() + 1000.0)
            server.create(pod("b").requests(cpu="300m"))

            def both() -> bool:
                scheduler.run_until_idle()
                return bound(server, 2)

            server.wait_for(both)


@pytest.mark.slow
def test_a_standby_with_delayed_caches_reads_nothing_before_it_leads(tmp_path: Path) -> None:
    """``delayCacheUntilActive``: no list and no watch, though it is ready; then it reads, and schedules."""
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "delayCacheUntilActive: true\n"
    )
    with ApiServer() as server, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        taken.close()

        def requests(verb: str, user: str) -> int:
            return sum(each.verb == verb and each.user == user for each in server.requests)

        def reads(user: str) -> int:
            return requests("list", user) + requests("watch", user)

        server.create(node("n").allocatable(cpu="8", memory="8Gi", pods="50"))
        server.create(pod("a").requests(cpu="100m"))
        one, two = (server.kubeconfig(tmp_path / user, user=user) for user in ("one", "two"))
        with replica(one, "--config", str(config)) as first:
            server.wait_for(lambda: bound(server, 1))
            with replica(two, "--config", str(config), f"--secure-port={port}") as second:
                wait_for_line(second, "is held by")
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
                    assert answer.status == 200
                asked = requests("get", "two")
                server.wait_for(lambda: requests("get", "two") >= asked + 2)  # of the lease
                assert (reads("one") > 0, reads("two")) == (True, 0)
                first.send_signal(signal.SIGTERM)
                assert first.wait(10) == 0
                server.create(pod("b").requests(cpu="100m"))
                server.wait_for(lambda: bound(server, 2))
                assert reads("two") > 0
                second.send_signal(signal.SIGTERM)
                assert second.wait(10) == 0


def test_delayed_caches_need_an_election(tmp_path: Path) -> None:
    """Without one, the cluster is read at once; a signal ends a standby that has read nothing."""
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "delayCacheUntilActive: true\n"
    )
    with ApiServer() as server:
        server.create(node("n").allocatable(cpu="8", memory="8Gi", pods="50"))
        server.create(pod("a").requests(cpu="100m"))
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        with replica(kubeconfig, "--config", str(config), "--leader-elect=false"):
            server.wait_for(lambda: bound(server, 1))
        with replica(kubeconfig) as leader:
            server.wait_for(lambda: holder(server))
            with replica(kubeconfig, "--config", str(config)) as standby:
                wait_for_line(standby, "is held by")
                standby.send_signal(signal.SIGTERM)
                assert standby.wait(10) == 0
            leader.kill()
