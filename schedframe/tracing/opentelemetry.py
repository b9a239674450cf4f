"""The tracer of a program, given to schedulers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import field

from .._base.value import record
from .._version import __version__
from ..cycle.tracing import AttemptTracer, TracingSink

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
class Tracing(TracingSink):
    """Spans of the attempts of the schedulers that were made with ``tracing=`` this object.

    ``tracer`` is any tracer of OpenTelemetry, by default one of the global provider as it is now. Its sampler
    decides which attempts are traced. Raises :class:`ModuleNotFoundError` without the extra ``tracing``.
    """

    tracer: Tracer = field(factory=_global_tracer)

    def attach(self, report: Callable[[Exception], None]) -> AttemptTracer:
        """Return the tracer of one scheduler. A scheduler does this itself."""
        from .attempts import SpanTracer

        return SpanTracer(self.tracer, report)
