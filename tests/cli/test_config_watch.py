"""A configuration file that changes while the scheduler runs."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from unittest.mock import Mock

import pytest
import yaml

from schedframe import InMemoryCluster, Scheduler
from schedframe.cli.run import config_watch
from schedframe.cli.run.config_watch import ConfigWatch
from schedframe.config import EffectiveConfig, load_config
from schedframe.cycle import Meter
from schedframe.testing import node, pod
from tests.configurations import configuration
from tests.meters import figures_of

PATIENCE = 30
"""Seconds after which a test gives up; nothing takes that long unless something is broken."""

GOOD = configuration(podInitialBackoffSeconds=3)


def written(path: Path, **more: object) -> Path:
    path.write_text(yaml.safe_dump({**GOOD, **more}))
    return path


def watch_of(path: Path) -> ConfigWatch:
    scheduler = Scheduler(InMemoryCluster([node("n"), pod("a")]), path, observers=[Meter()])
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


def test_a_refused_file_is_counted_and_reported_until_it_is_mended(tmp_path: Path) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    notes: list[str] = []
    watch.on_refused = notes.append

    def figures() -> list[float]:
        metrics = figures_of(watch.scheduler).metrics
        reloads = metrics["schedframe_config_reloads_total"].samples
        last = metrics["schedframe_config_last_reload_success"].samples[()]
        return [reloads["accepted",], reloads["refused",], last]  # type: ignore[list-item]  # no histograms

    assert figures() == [0, 0, 1]
    written(watch.path, podInitialBackoffSeconds=-100)  # refused by the file's reader
    watch.look()
    assert figures() == [0, 1, 0]
    plugins = {"multiPoint": {"enabled": [{"name": "NoSuchPlugin"}]}}
    written(watch.path, profiles=[{"plugins": plugins}])  # refused by the scheduler
    watch.ask()
    watch.look()
    assert figures() == [0, 2, 0]
    written(watch.path, podInitialBackoffSeconds=2)
    watch.look()
    assert figures() == [1, 2, 1]
    assert len(notes) == 2
    assert "podInitialBackoffSeconds" in notes[0]
    assert "NoSuchPlugin" in notes[1]


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


@pytest.mark.parametrize("moment", ["compared", "begun", "read"])
def test_asking_while_the_file_is_looked_at_leads_to_a_read_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A signal may come between any two steps of the thread that looks."""
    watch = watch_of(written(tmp_path / "config.yaml"))
    read, state, order = watch.read, ConfigWatch._state, list[str]()

    def ask_at(now: str) -> None:
        if now == moment and "asked" not in order:
            order.append("asked")
            watch.ask()

    def looked_at(self: ConfigWatch) -> object:
        found = state(self)
        ask_at("compared")
        return found

    def noted() -> EffectiveConfig:
        ask_at("begun")
        order.append("read")
        config = read()
        ask_at("read")
        return config

    watch.read = noted
    monkeypatch.setattr(ConfigWatch, "_state", looked_at)
    watch.ask()  # so that the unchanged file is read
    watch.look()
    watch.look()
    assert "asked" in order[:-1]
    assert order[-1] == "read"


def thread_of_the_watch() -> threading.Thread | None:
    return next((each for each in threading.enumerate() if each.name == "schedframe-config"), None)


@pytest.mark.parametrize("asked", [False, True])
def test_a_thread_looks_every_few_seconds_or_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """It sees each change, and ends with the context."""
    monkeypatch.setattr(config_watch, "LOOK_SECONDS", 3600 if asked else 0.01)
    watch = watch_of(written(tmp_path / "config.yaml"))
    with watch.following():
        thread = thread_of_the_watch()
        assert thread is not None
        for seconds in (5, 6):
            written(watch.path, podInitialBackoffSeconds=seconds)
            if asked:
                watch.ask()
            deadline = monotonic() + PATIENCE
            while backoff(watch) != seconds and monotonic() < deadline:
                sleep(0.005)
            assert backoff(watch) == seconds
    thread.join(PATIENCE)
    assert thread_of_the_watch() is None


class Asked(threading.Event):
    """Records for how long it is waited for, and waits until it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []
        self.is_awaited_again = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) == 2:
            self.is_awaited_again.set()
        return super().wait(PATIENCE)


def test_a_thread_that_looks_sleeps_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    asked, looked = Asked(), Mock()
    monkeypatch.setattr(watch, "_asked", asked)
    monkeypatch.setattr(ConfigWatch, "look", looked)
    with watch.following():
        watch.ask()
        assert asked.is_awaited_again.wait(PATIENCE)
        looked.assert_called_once()
    assert asked.waits == [config_watch.LOOK_SECONDS, config_watch.LOOK_SECONDS]


def test_text_that_is_not_utf_8_is_refused_and_the_next_change_is_used(tmp_path: Path) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    watch.path.write_bytes(b"kind: \xff\xfe\n")
    watch.look()
    assert watch.problem is not None
    written(watch.path, podInitialBackoffSeconds=4)
    watch.look()
    assert [watch.problem, backoff(watch)] == [None, 4]


def test_a_fault_does_not_end_the_thread_that_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watch = watch_of(written(tmp_path / "config.yaml"))
    read, faults = watch.read, [RuntimeError("a plugin of another package")]
    reports: list[str] = []

    def failing() -> EffectiveConfig:
        if faults:
            raise faults.pop()
        return read()

    def report(note: str) -> None:
        reports.append(note)
        raise RuntimeError("events cannot be recorded")

    watch.read, watch.on_refused = failing, report
    written(watch.path, podInitialBackoffSeconds=7)
    monkeypatch.setattr("schedframe.cli.run.config_watch.LOOK_SECONDS", 0.01)
    with watch.following():
        wait_for(lambda: watch.problem is not None)
        assert "a plugin of another package" in str(watch.problem)
        written(watch.path, podInitialBackoffSeconds=-8)
        wait_for(lambda: len(reports) == 2)
        written(watch.path, podInitialBackoffSeconds=9, podMaxBackoffSeconds=10)
        wait_for(lambda: watch.problem is None)
    assert backoff(watch) == 9


def test_a_file_that_could_not_be_read_is_read_as_soon_as_it_can_be(tmp_path: Path) -> None:
    """The right to read it, or the volume that it is on, comes back without a change of the file."""
    watch = watch_of(written(tmp_path / "config.yaml"))
    read, errors = watch.read, [PermissionError("no right"), PermissionError("no right")]
    notes: list[str] = []
    watch.on_refused = notes.append

    def failing() -> EffectiveConfig:
        if errors:
            raise errors.pop()
        return read()

    watch.read = failing
    written(watch.path, podInitialBackoffSeconds=7)
    watch.look()
    watch.look()
    assert watch.problem == "no right"
    assert len(notes) == 1
    reloads = figures_of(watch.scheduler).metrics["schedframe_config_reloads_total"].samples
    assert reloads["refused",] == 1
    watch.look()
    assert [watch.problem, backoff(watch)] == [None, 7]


@pytest.mark.parametrize("led_before", [False, True])
def test_a_standby_uses_a_changed_file_at_once(tmp_path: Path, led_before: bool) -> None:
    """Nothing is scheduled, but what happened is taken in, which the exchange must not run into."""
    watch = watch_of(written(tmp_path / "config.yaml"))
    scheduler = watch.scheduler
    ended, taken_in, threads = threading.Event(), threading.Event(), set[int]()

    def follow() -> None:
        if led_before:
            scheduler.run_until_idle()
        scheduler.core.inbox.wake_up = taken_in.set
        while not ended.is_set():
            scheduler.sync()
            threads.add(threading.get_ident())
            taken_in.wait()
            taken_in.clear()

    following = threading.Thread(target=follow)
    following.start()
    wait_for(lambda: bool(threads))
    written(watch.path, podInitialBackoffSeconds=7)
    looking = threading.Thread(target=watch.look, daemon=True)
    looking.start()
    looking.join(5)
    used = not looking.is_alive()
    ended.set()
    taken_in.set()
    following.join()
    scheduler.run_until_idle()
    looking.join()
    scheduler.close()
    assert used
    assert backoff(watch) == 7


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < deadline
        sleep(0.005)
