"""Run two commands that take turns of a fraction of a second, so that both meet the same machine.

A busy neighbour, a hot processor or a page cache that is being written change the speed of a machine within
seconds. Runs one after the other meet different conditions; short turns meet the same ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from attrs import define, field

TURN: Final = 0.02
"""Seconds of a turn. Turns of 0.2 s left ratios of runs of 20,000 pods that were 8 % apart, these 2 %."""
STOP_AT_FIRST_READING: Final = """
import os, runpy, signal, sys, time

def stop_first():
    global wanted
    if wanted:
        wanted = False
        os.kill(os.getpid(), signal.SIGSTOP)
    return read()

wanted, read, time.process_time_ns = True, time.process_time_ns, stop_first
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Runs a module, and stops the process when it reads its CPU time first: where the measured part begins."""


@define(eq=False)
class Turns:
    """A process that runs only while it is its turn, from the measured part on."""

    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    _process: subprocess.Popen[bytes] = field(init=False)
    _output: IO[bytes] = field(init=False, factory=TemporaryFile)
    _ended: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        interpreter, flag, *module = self.command
        if flag != "-m":
            raise ValueError(f"{' '.join(self.command)}: expected an interpreter, -m and a module")
        self._process = subprocess.Popen(
            [interpreter, "-c", STOP_AT_FIRST_READING, *module],
            cwd=self.directory,
            env=self.environment,
            stdout=self._output,
            stderr=self._output,
        )

    def wait(self) -> bool:
        """Wait until the process stops; ``False`` if it ends."""
        if not self._ended:
            _, status = os.waitpid(self._process.pid, os.WUNTRACED)
            self._note(status)
        return not self._ended

    def pin(self, processor: int) -> None:
        """Let the process run on that processor alone, where the system can do that."""
        if not self._ended and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, {processor})

    def turn(self) -> bool:
        """Let the process run for a turn; ``False`` if it has ended."""
        if self._ended:
            return False
        self._process.send_signal(signal.SIGCONT)
        time.sleep(TURN)
        os.kill(self._process.pid, signal.SIGSTOP)  # of no effect on one that has ended
        return self.wait()

    def output(self) -> str:
        """Return what the process printed; :class:`RuntimeError` unless it ended with 0."""
        self._output.seek(0)
        text = self._output.read().decode()
        if self._process.returncode:
            raise RuntimeError(f"{self.directory}: {' '.join(self.command)} failed:\n{text}")
        return text

    def close(self) -> None:
        """End the process."""
        if not self._ended:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def _note(self, status: int) -> None:
        if not os.WIFSTOPPED(status):
            self._ended = True
            self._process.returncode = os.waitstatus_to_exitcode(status)


def run_in_turns(runs: Sequence[Turns]) -> list[str]:
    """Run all to their end, in turns from where each one measures; return what they printed.

    Preparations run side by side, the rest on one processor: of a virtual machine one may be slower than
    another. Raises :class:`RuntimeError` for one that fails.
    """
    processor = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    try:
        for each in runs:
            if each.wait():
                each.pin(processor)
        while [each for each in runs if each.turn()]:
            pass
        return [each.output() for each in runs]
    finally:
        for each in runs:
            each.close()
