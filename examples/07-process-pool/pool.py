"""A pool of worker processes that runs shell commands under budgets of CPU and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from attrs import define, field, frozen

from schedframe.embed import Backoff, Embedding, NotStarted, PlacementFailure, Requirements

WORKER = Path(__file__).with_name("pool_worker.py")
DONE = "done"


@frozen
class Job:
    """A command, what it may use, and when it may start."""

    key: str
    command: str
    cpu: float = 1
    memory: int = 64
    """MiB."""
    priority: int = 0
    retries: int = 0
    """How often it may be tried again."""
    after: tuple[str, ...] = field(default=(), converter=tuple)
    """Jobs that must have succeeded first."""

    @property
    def requests(self) -> dict[str, float]:
        return {"cpu": self.cpu, "memory": self.memory * 2**20}

    @property
    def labels(self) -> dict[str, str]:
        return {}


@define(eq=False)
class WorkerProcess:
    """A child that runs commands, and its budget."""

    key: str
    cpu: float
    memory: int
    process: subprocess.Popen[str] = field(init=False)

    @process.default
    def _start(self) -> subprocess.Popen[str]:
        # In a session of its own, so that all that it started can be ended with it.
        return subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def capacity(self) -> dict[str, float]:
        return {"cpu": self.cpu, "memory": self.memory * 2**20}

    @property
    def labels(self) -> dict[str, str]:
        return {}

    @property
    def reports(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def order(self, **order: str) -> None:
        """Let it run a command; :class:`OSError` if it does not listen any more."""
        assert self.process.stdin is not None
        print(json.dumps(order), file=self.process.stdin, flush=True)

    def end(self) -> None:
        """Let nothing of it live on."""
        with suppress(ProcessLookupError):  # nothing is left of it
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@define(eq=False)
class Pool:
    """Decides nothing: starts the jobs that the embedding places, and reports their results.

    The thread that calls :meth:`run` decides and starts; a thread for each worker reads what it reports; any
    thread may add jobs. ``memory``: of each worker, in MiB. ``say`` is called by all of these threads.
    """

    workers: int
    cpu: float
    memory: int
    say: Callable[[str], None]
    retry: Callable[[int], float] = field(factory=lambda: Backoff(initial=0.05, longest=1.0))
    results: dict[str, str] = field(factory=dict)
    """Job → ``done``, or why not, once it is over."""
    attempts: Counter[str] = field(factory=Counter)
    """How often each job was started."""
    _embedding: Embedding[Job, WorkerProcess] = field(init=False)
    _early: dict[str, Job] = field(factory=dict)
    """Jobs whose predecessors are not done."""
    _under_way: dict[str, Job] = field(factory=dict)
    _alive: dict[str, WorkerProcess] = field(factory=dict)
    _readers: list[threading.Thread] = field(factory=list)
    _more: bool = True
    _closing: bool = False
    _lock: threading.RLock = field(factory=threading.RLock)

    def __attrs_post_init__(self) -> None:
        self._embedding = Embedding(
            on_place=self._start,
            on_unplaced=self._wait,
            needs=lambda job: Requirements(priority=job.priority),
            retry=self.retry,
        )

    # ---- jobs, from any thread ----

    def add(self, job: Job) -> None:
        """A job arrives."""
        with self._lock:
            if job.cpu > self.cpu or job.memory > self.memory:
                self._over(job.key, "larger than any worker")
            else:
                self._early[job.key] = job
                self._release()

    def no_more(self) -> None:
        """Let :meth:`run` return when all is done."""
        with self._lock:
            self._more = False
            self._release()

    def _release(self) -> None:
        """Submit what may start, give up what never will, stop when nothing is left."""
        for job in [*self._early.values()]:
            if job.key not in self._early:
                continue  # given up by the end of another
            failed = [key for key in job.after if self.results.get(key, DONE) != DONE]
            if failed:
                self._over(job.key, f"{failed[0]} failed")
            elif all(key in self.results for key in job.after):
                self._under_way[job.key] = self._early.pop(job.key)
                self._embedding.submit(job)
        if not self._more and not self._under_way:
            while self._early:
                self._over(next(iter(self._early)), "waits for what never came")
            self._embedding.stop()

    def _over(self, key: str, result: str) -> None:
        self.results[key] = result
        self._early.pop(key, None)
        self._under_way.pop(key, None)
        self.say(f"{key}: {result}")
        self._release()

    # ---- the thread that decides ----

    def run(self) -> None:
        """Until there is nothing more to do, and nothing more will come."""
        with self._lock:
            for number in range(1, self.workers + 1):
                self._add_worker(f"worker-{number}")
        try:
            self._embedding.run()
        finally:
            with self._lock:
                self._closing = True
                for worker in self._alive.values():
                    worker.end()
            for reader in self._readers:
                reader.join()
            self._embedding.close()

    def _start(self, job: Job, worker: WorkerProcess) -> None:
        self.attempts[job.key] += 1
        self.say(f"{job.key}: on {worker.key}")
        try:
            worker.order(
                key=job.key,
                command=job.command,
                kibibytes=str(job.memory * 1024),
                attempt=str(self.attempts[job.key]),
                worker=worker.key,
            )
        except OSError as error:
            self.attempts[job.key] -= 1
            raise NotStarted(f"{worker.key} does not listen: {error}") from error

    def _wait(self, job: Job, why: PlacementFailure) -> None:
        self.say(f"{job.key}: {why}")

    # ---- a thread for each worker ----

    def _add_worker(self, key: str) -> None:
        worker = self._alive[key] = WorkerProcess(key, self.cpu, self.memory)
        self._embedding.add_worker(worker)
        self._readers.append(threading.Thread(target=self._read, args=(worker,)))
        self._readers[-1].start()

    def _read(self, worker: WorkerProcess) -> None:
        for line in worker.reports:
            report = json.loads(line)
            with self._lock:
                self._ended(report["key"], worker.key, report["code"])
        worker.end()
        with self._lock:
            if not self._closing:
                self._died(worker)

    def _ended(self, key: str, worker: str, code: int) -> None:
        if code == 0:
            if self._embedding.finish(key, on=worker):
                self._over(key, DONE)
        elif self.attempts[key] > self._under_way[key].retries:
            if self._embedding.finish(key, on=worker):
                self._over(key, f"exit code {code}")
        elif self._embedding.fail(key, on=worker):
            self.say(f"{key}: exit code {code}, once more")

    def _died(self, worker: WorkerProcess) -> None:
        """Try again what it ran, unless it has been often enough; another worker takes its place."""
        self.say(f"{worker.key} died")
        del self._alive[worker.key]
        ran = self._embedding.tasks_on(worker)
        if ran or self._alive:
            self._add_worker(f"{worker.key}'")
        for job in ran:
            if self.attempts[job.key] > job.retries and self._embedding.finish(job, on=worker.key):
                self._over(job.key, f"{worker.key} died")
        self._embedding.remove_worker(worker)  # the rest may be running elsewhere from now on
        if not self._alive:
            # It died without having been given anything, and the next one would, too.
            self._embedding.stop()


def read_jobs(source: IO[str], pool: Pool) -> None:
    """Hand over jobs, a line of JSON each, as they come."""
    try:
        for line in source:
            if line.strip():
                pool.add(Job(**json.loads(line)))
    finally:
        pool.no_more()


def main() -> int:
    """Exit code 1 if some job did not succeed."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="?", type=Path, help="a line of JSON for each job; stdin by default")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cpu", type=float, default=2, help="of each worker")
    parser.add_argument("--memory", type=int, default=512, help="of each worker, in MiB")
    options = parser.parse_args()

    pool = Pool(options.workers, options.cpu, options.memory, say=lambda text: print(text, file=sys.stderr))
    with options.jobs.open() if options.jobs else sys.stdin as source:
        reader = threading.Thread(target=read_jobs, args=(source, pool))
        reader.start()
        pool.run()
        reader.join()
    for key, result in sorted(pool.results.items()):
        print(f"{key:10} {pool.attempts[key]}  {result}")
    return 0 if set(pool.results.values()) <= {DONE} else 1


if __name__ == "__main__":
    sys.exit(main())
