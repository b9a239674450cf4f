"""A configuration file that changes while the scheduler runs."""

from __future__ import annotations

import logging
import os
from functools import partial
from pathlib import Path

import pytest
import yaml

from schedframe import InMemoryCluster, Scheduler
from schedframe.cli.config_watch import ConfigWatch
from schedframe.config import load_config
from schedframe.testing import node, pod

GOOD = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 3,
}


def written(path: Path, **more: object) -> Path:
    path.write_text(yaml.safe_dump({**GOOD, **more}))
    return path


def watch_of(path: Path) -> ConfigWatch:
    scheduler = Scheduler(InMemoryCluster([node("n"), pod("a")]), path)
    return ConfigWatch(path, partial(load_config, path), scheduler)


def backoff(watch: ConfigWatch) -> int:
    return watch.scheduler.config.pod_initial_backoff_seconds


def test_a_changed_file_is_used(tmp_path: Path) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    watch.look()
    assert backoff(watch) == 3
    written(watch.path, podInitialBackoffSeconds=44, podMaxBackoffSeconds=50)
    watch.look()
    assert backoff(watch) == 44
    assert watch.problem is None


def test_the_exchanged_link_of_a_config_map_is_a_change(tmp_path: Path) -> None:
    for name, seconds in (("..1", 3), ("..2", 5)):
        (tmp_path / name).mkdir()
        written(tmp_path / name / "config.yaml", podInitialBackoffSeconds=seconds)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "config.yaml").symlink_to("..data/config.yaml")
    watch = watch_of(tmp_path / "config.yaml")
    (tmp_path / "..new").symlink_to("..2")
    os.replace(tmp_path / "..new", tmp_path / "..data")
    watch.look()
    assert backoff(watch) == 5


def test_a_refused_file_changes_nothing_until_it_is_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    before = watch.scheduler.config
    written(watch.path, podInitialBackoffSeconds=-100)
    with caplog.at_level(logging.ERROR, "schedframe.run"):
        watch.look()
        watch.look()
    assert watch.scheduler.config is before
    assert watch.problem is not None
    assert "podInitialBackoffSeconds" in watch.problem
    assert len(caplog.records) == 1, "once for each change"
    written(watch.path, podInitialBackoffSeconds=2)
    watch.look()
    assert watch.problem is None
    assert backoff(watch) == 2


def test_a_file_that_is_gone_is_no_change(tmp_path: Path) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    watch.path.unlink()
    watch.look()
    assert watch.problem is None
    assert backoff(watch) == 3


def test_the_file_is_read_again_when_asked(tmp_path: Path) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    before = watch.scheduler.config
    watch.ask()
    watch.look()
    assert watch.scheduler.config is not before
    assert watch.scheduler.config.config == before.config
