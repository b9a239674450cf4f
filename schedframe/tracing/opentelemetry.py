"""The tracer of a program, given to schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field
from typing_extensions import override

from .._base.value import record
from .._version import __version__
from ..cycle.core import Core
from ..cycle.observer import SchedulerObserver

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


def _global_tracer() -> Tracer:
    try:
        from opentelemetry import trace
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "tracing needs opentelemetry: pip install 'schedframe[tracing]'", name="opentelemetry"
        ) from error
    return trace.get_tracer("schedframe", __version__)


@record(frozen=True, eq=False)
class Tracing(SchedulerObserver):
    """Spans of the attempts of the schedulers that have this object among their ``observers``.

    ``tracer`` is any tracer of OpenTelemetry, by default one of the global provider as it is now. Its sampler
    decides which attempts are traced. Raises :class:`ModuleNotFoundError` without the extra ``tracing``.
    """

    tracer: Tracer = field(factory=_global_tracer)

    @override
    def attach(self, core: Core) -> SchedulerObserver:
        from .attempts import SpanTracer

        return SpanTracer(self.tracer)
