"""Spans of the attempts of ``schedframe run``, only with ``--tracing``: nothing is imported without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from ..._version import __version__
from ...cycle import SchedulerObserver
from ...errors import InputError
from .flag_values import boolean
from .options import RunOptions


@contextmanager
def exported_spans(options: RunOptions) -> Iterator[SchedulerObserver | None]:
    """Yield what traces the attempts, ``None`` without ``--tracing``; at the end spans are exported.

    Raises :class:`InputError`.
    """
    rate = options.tracing_sampling_rate_per_million
    if not boolean("--tracing", options.tracing):
        if rate is not None:
            raise InputError(
                "--tracing-sampling-rate-per-million", "no attempt is traced", "add --tracing=true"
            )
        yield None
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise InputError("--tracing", "opentelemetry is missing", "pip install 'schedframe[tracing]'")
    from ...tracing import Tracing
    from ...tracing.export import provider_from_environment

    provider = provider_from_environment(rate)
    try:
        yield Tracing(provider.get_tracer("schedframe", __version__))
    finally:
        provider.shutdown()
