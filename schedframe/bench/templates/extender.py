"""The templates with an extender: pods like those of ``basic``, and a server in another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ..measurement import Figures
from ..options import Progress, Size
from ..runner import WorkloadDefinition, WorkloadRunner
from . import shapes

ANSWER_MS: Final = 1.0
"""Milliseconds from the first byte of a request to the answer."""
_PROGRAM: Final = Path(__file__).parent.parent / "delayed_answers.py"


def measure_extender(rejected: int) -> Callable[[Size, Progress], Figures]:
    """Return a function that schedules the pods of ``basic`` with an extender that filters names of nodes.

    *rejected*: of that number of nodes the extender rejects one; 0 for none.
    """

    def measure(size: Size, progress: Progress) -> Figures:
        with _server(rejected) as url:
            definition = WorkloadDefinition(shapes.basic(size), _config(url))
            outcome = WorkloadRunner(progress=progress).run(definition)
        figures: Figures = {"nodes": size.nodes, "init": size.init, "answer_ms": ANSWER_MS}
        figures |= outcome.measurement.figures(with_waits=False)
        figures["cpu_us_per_pod"] = round(outcome.measurement.cpu / 1e3 / max(1, size.pods), 1)
        return figures | outcome.problems

    return measure


def _config(url: str) -> dict[str, Any]:
    extender = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "5s"}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }


@contextmanager
def _server(rejected: int) -> Iterator[str]:
    """Run the extender in another process; the value is its URL."""
    # -I: the modules beside the program must not stand in for modules of the standard library.
    command = [sys.executable, "-I", str(_PROGRAM), str(ANSWER_MS), str(rejected)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()
