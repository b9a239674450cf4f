"""The pool of worker processes: budgets hold, jobs may come at any time, workers may die."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from .loading import load
from .running import EXAMPLES

PATIENCE = 60.0


@pytest.fixture
def pool_module(monkeypatch: pytest.MonkeyPatch) -> Any:
    return load(EXAMPLES / "07-process-pool" / "pool.py", monkeypatch)


def run(module: Any, jobs: list[Any], **options: Any) -> Any:
    pool = module.Pool(**({"workers": 2, "cpu": 2, "memory": 256, "say": lambda text: None} | options))
    for job in jobs:
        pool.add(job)
    pool.no_more()
    pool.run()
    return pool


def test_jobs_that_need_a_whole_worker_never_share_one(
    pool_module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKS", str(tmp_path))
    # mkdir fails if another one is between its mkdir and its rmdir on the same worker
    alone = 'mkdir "$LOCKS/$WORKER" && ls / > "$LOCKS/$WORKER/listing" && rm -r "$LOCKS/$WORKER"'
    pool = run(pool_module, [pool_module.Job(f"job-{i}", alone, memory=200) for i in range(12)])
    assert set(pool.results.values()) == {"done"}
    assert len(pool.results) == 12


def test_jobs_that_come_while_others_run(pool_module: Any) -> None:
    said = threading.Event()
    pool = pool_module.Pool(1, 1, 256, say=lambda text: said.set() if text == "first: done" else None)
    thread = threading.Thread(target=pool.run)
    thread.start()
    pool.add(pool_module.Job("second", "true", after=["first"]))
    pool.add(pool_module.Job("first", "true"))
    assert said.wait(PATIENCE)
    pool.add(pool_module.Job("third", "true", after=["second"]))
    pool.add(pool_module.Job("orphan", "true", after=["missing"]))
    pool.no_more()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert pool.results == {
        "first": "done",
        "second": "done",
        "third": "done",
        "orphan": "waits for what never came",
    }


def test_what_a_dead_worker_ran_is_tried_on_another(pool_module: Any, tmp_path: Path) -> None:
    # The innocent one ends only when its worker has been killed by the other, or on its second attempt.
    fifo = tmp_path / "never"
    jobs = [
        pool_module.Job(
            "innocent", f'test $ATTEMPT -ge 2 || {{ mkfifo "{fifo}"; cat "{fifo}"; }}', retries=1
        ),
        pool_module.Job("killer", f'until [ -e "{fifo}" ]; do :; done; kill -9 $PPID'),
    ]
    pool = run(pool_module, jobs, workers=1)
    assert pool.results == {"innocent": "done", "killer": "worker-1 died"}
    assert pool.attempts == {"innocent": 2, "killer": 1}
