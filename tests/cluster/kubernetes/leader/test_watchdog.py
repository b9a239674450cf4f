"""The watchdog: a process that was suspended past the moment executes nothing when it wakes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from schedframe.cluster.kubernetes.leader.watchdog import EXIT_CODE

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")

PROGRAM = """
import os, time
from schedframe.cluster.kubernetes.leader import ProcessWatchdog

watchdog = ProcessWatchdog()
assert watchdog.install()
watchdog.arm({seconds})
{rest}
os.write(1, b"ready")
end = time.monotonic() + 20
while time.monotonic() < end:
    os.write(1, b".")
    time.sleep(0.001)
"""


def start(seconds: float, rest: str = "") -> subprocess.Popen[bytes]:
    program = PROGRAM.format(seconds=seconds, rest=rest)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(5) == b"ready"
    return process


def test_it_ends_a_process_that_was_suspended() -> None:
    with start(0.4) as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # the timer of the kernel is the subject
        os.set_blocking(process.stdout.fileno(), False)
        process.stdout.read()
        process.send_signal(signal.SIGCONT)
        os.set_blocking(process.stdout.fileno(), True)
        assert process.stdout.read() == b""
        assert process.wait(5) == EXIT_CODE


def test_it_does_nothing_when_it_is_disarmed_or_armed_again() -> None:
    with start(0.2, "watchdog.disarm(); watchdog.arm(0.2); watchdog.arm(30)") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.4)
        process.kill()
