"""Signals are answered while the main thread waits for a lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from schedframe.cli.run.signals import handling

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs POSIX signals")


def test_an_action_runs_in_another_thread_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    came: list[str] = []
    ready = threading.Event()

    def note() -> None:
        came.append(threading.current_thread().name)
        ready.set()

    with handling({signal.SIGUSR1: note}):
        for count in range(1, 4):
            ready.clear()
            os.kill(os.getpid(), signal.SIGUSR1)
            assert ready.wait(5)
            assert len(came) == count
    assert set(came) == {"schedframe-signals"}
    assert signal.getsignal(signal.SIGUSR1) == before


PROGRAM = """
import os, signal, sys, threading
from schedframe.cli.run.signals import handling

waits = threading.Lock()
waits.acquire()
with handling({signal.SIGTERM: waits.release}):
    os.kill(os.getpid(), signal.SIGTERM)
    waits.acquire()
"""


def test_the_main_thread_may_wait_for_a_lock() -> None:
    assert subprocess.run([sys.executable, "-c", PROGRAM], check=False, timeout=20).returncode == 0
