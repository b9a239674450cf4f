"""Logs of ``schedframe run``: lines of text or JSON on stderr, with fields where a record has them."""

from __future__ import annotations

import json
import logging
import sys
import time
from enum import StrEnum
from typing import Any

from typing_extensions import override

from ..._base.value import record
from ..._base.visible import visible
from ...cycle.observer import SchedulerObserver
from ...cycle.outcomes import PassedOver
from ...cycle.search.decision import Decision
from ...queue import QueuedPodInfo
from ..output.terminal import traceback_lines

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every record has; all others are fields of one record."""


class LogFormat(StrEnum):
    """Form of the lines."""

    TEXT = "text"
    JSON = "json"


class _Formatter(logging.Formatter):
    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    @override
    def format(self, record: logging.LogRecord) -> str:
        moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"
        fields = {key: value for key, value in vars(record).items() if key not in _PLAIN}
        error = record.exc_info[1] if record.exc_info else None
        trace = "\n".join(traceback_lines(error)) if error is not None else ""
        if self._form is LogFormat.JSON:
            line: dict[str, Any] = {"time": moment, "level": record.levelname, "logger": record.name}
            line |= {"message": record.getMessage(), **fields}
            return json.dumps(line | ({"trace": trace} if trace else {}), default=str)
        extra = "".join(f" {key}={_quoted(value)}" for key, value in fields.items())
        text = f"{moment} {record.levelname:<7} {visible(record.getMessage())}{extra}"
        return f"{text}\n{trace}" if trace else text


def _quoted(value: Any) -> str:
    """Return *value* as one word: readers split records at line breaks, and fields at blanks."""
    text = str(value)
    is_word = text and text.isprintable() and " " not in text and '"' not in text
    return text if is_word else json.dumps(text)


def set_up(form: LogFormat, verbosity: int) -> None:
    """Write records of the library to stderr: information, and from *verbosity* 2 on details too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(form))
    logger = logging.getLogger("schedframe")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)


@record(eq=False)
class DecisionLog(SchedulerObserver):
    """Logs each decision in one line, and one for equal pods that wait together."""

    logger: logging.Logger

    @override
    def decided(self, profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        fields: dict[str, Any] = {"pod": decision.pod.key, "attempt": info.attempts}
        if decision.node_name is not None:
            self.logger.info("placed", extra={**fields, "node": decision.node_name})
        elif decision.diagnosis is not None:
            self.logger.info("no node", extra={**fields, "why": decision.diagnosis.message()})
        else:
            why = decision.error.message if decision.error is not None else ""
            self.logger.info("failed", extra={**fields, "why": why})

    @override
    def passed_over(self, passed: PassedOver) -> None:
        fields = {"pod": passed.pod, "pods": passed.pods, "why": passed.message}
        self.logger.info("not tried, equal pods wait", extra=fields)
