"""The server of ``schedframe run``: its checks, pages and certificates, and what SIGUSR2 writes."""

from __future__ import annotations

import json
import logging
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler
from schedframe.cli.run.leadership import Leadership
from schedframe.cli.run.observed import Observed
from schedframe.cli.run.options import RunOptions
from schedframe.cli.run.serving import new_metrics, serving
from schedframe.cli.run.serving_settings import serving_settings
from schedframe.cluster import ViewChange
from schedframe.cluster.kubernetes.leader import ElectionSettings
from schedframe.errors import InputError

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def get(options: RunOptions, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{options.secure_port}{path}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextmanager
def served(settings: ElectionSettings | None = None, **more: Any) -> Iterator[tuple[RunOptions, Observed]]:
    options = RunOptions(secure_port=free_port(), **more)
    cluster = InMemoryCluster()
    room = {"cpu": "2", "memory": "8Gi", "pods": "10"}
    cluster.create({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}})
    leadership = Leadership(cluster, settings)  # type: ignore[arg-type]  # no election is joined
    server = serving_settings(options)
    metrics = new_metrics(server, leadership)
    with Scheduler(cluster, observers=[metrics]) as scheduler:
        exposition = None if metrics is None else metrics.exposition
        observed = Observed(cluster, scheduler, leadership, exposition)  # type: ignore[arg-type]
        with serving(server, observed):
            yield options, observed


def test_it_is_ready_when_the_cluster_was_read() -> None:
    with served() as (options, observed):
        assert get(options, "/livez") == (200, "ok")
        status, text = get(options, "/readyz")
        assert status == 500
        assert "[-]sched-handler-sync failed: the cluster is still being read" in text
        observed.is_synced = True
        assert get(options, "/readyz") == (200, "ok")
        assert [line[3:].split(" ")[0] for line in get(options, "/readyz?verbose")[1].splitlines()[:-1]] == [
            "ping",
            "leaderElection",
            "shutdown",
            "sched-handler-sync",
            "scheduling-loop",
            "scheduling-queue",
            "configuration",
            "cluster-view",
        ]
        scheduler = observed.scheduler
        scheduler.core.inbox.put(ViewChange({"Node": "503"}, True))
        scheduler.sync()
        assert get(options, "/readyz") == (200, "ok")
        assert (
            "[+]cluster-view ok: pods wait for a current view (Node for "
            in get(options, "/readyz?verbose")[1]
        )
        observed.refused = lambda: True
        assert get(options, "/readyz") == (200, "ok")
        assert "[+]configuration ok: the file as it is now is refused" in get(options, "/readyz?verbose")[1]


def test_a_standby_is_ready() -> None:
    with served(ElectionSettings()) as (options, observed):
        observed.is_synced = True
        assert get(options, "/readyz") == (200, "ok")


def test_pages_about_the_scheduler() -> None:
    with served() as (options, observed):
        observed.scheduler.sync()  # the pages show what was read so far
        thread = threading.Thread(target=observed.leadership.drive, args=(observed.scheduler,))
        thread.start()
        try:
            config = json.loads(get(options, "/configz")[1])["componentconfig"]
            assert config["kind"] == "KubeSchedulerConfiguration"
            assert json.loads(get(options, "/debug/cache")[1])["nodes"][0]["name"] == "n"
            assert json.loads(get(options, "/debug/queue")[1]) == {}
            assert json.loads(get(options, "/debug/compare")[1])["equal"]
            assert get(options, "/metrics/resources") == (200, "")
            assert get(options, "/debug/profile")[0] == 404
        finally:
            observed.leadership.end()
            thread.join(5)


def test_metrics_say_who_leads() -> None:
    pytest.importorskip("prometheus_client", reason="the extra metrics is not installed")
    with served(ElectionSettings()) as (options, observed):
        text = get(options, "/metrics")[1]
        assert 'leader_election_master_status{name="kube-scheduler"} 0.0' in text
        assert "scheduler_pending_async_api_calls" in text
        observed.leadership.leads = True
        assert 'leader_election_master_status{name="kube-scheduler"} 1.0' in get(options, "/metrics")[1]


def test_nothing_is_served_by_default() -> None:
    assert RunOptions().secure_port == 0
    assert new_metrics(serving_settings(RunOptions()), Leadership(None)) is None  # type: ignore[arg-type]  # it is not read


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    for named in ({"tls_cert_file": "a"}, {"tls_private_key_file": "a"}):
        with pytest.raises(InputError, match="belong together"), served(**named):
            pass
    files = {"tls_cert_file": str(tmp_path / "a"), "tls_private_key_file": str(tmp_path / "b")}
    with pytest.raises(InputError, match="cannot be used"), served(**files):
        pass
    old = served(**files, tls_min_version="VersionTLS11")
    with pytest.raises(InputError, match="VersionTLS11 is not served"), old:
        pass


def test_the_state_is_written_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cluster = InMemoryCluster()
    leadership = Leadership(cluster)  # type: ignore[arg-type]  # no election is joined
    with Scheduler(cluster) as scheduler, caplog.at_level(logging.INFO, "schedframe.run"):
        observed = Observed(cluster, scheduler, leadership)  # type: ignore[arg-type]
        thread = threading.Thread(target=leadership.drive, args=(scheduler,))
        thread.start()
        observed._log_state()
        leadership.end()
        thread.join(5)
    logged = [record.getMessage() for record in caplog.records if record.name == "schedframe.run"]
    assert [line.partition(":")[0] for line in logged] == [
        "cache",
        "queue",
        "comparison of the cache with the cluster",
    ]


def test_a_changed_certificate_is_read_again(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra serve is not installed")
    from schedframe.serve.tls import ServerCertificate, _made

    files = tmp_path / "cert", tmp_path / "key"
    for file, text in zip(files, _made("127.0.0.1"), strict=True):
        file.write_bytes(text)
    certificate = ServerCertificate(*files)
    assert certificate.refresh()
    assert not certificate.refresh()
    for file, text in zip(files, _made("127.0.0.1"), strict=True):
        file.write_bytes(text)
    assert certificate.refresh()
    files[1].write_text("broken")
    with pytest.raises(InputError):
        certificate.refresh()
