"""A provider that the standard environment variables of OpenTelemetry configure, as for any other program.

``OTEL_TRACES_EXPORTER`` names the exporters, ``OTEL_EXPORTER_OTLP_*`` set their endpoints,
``OTEL_SERVICE_NAME`` and ``OTEL_RESOURCE_ATTRIBUTES`` the resource, ``OTEL_TRACES_SAMPLER`` the sampler,
``OTEL_BSP_*`` the batches. Exporters are entry points, so that those of other packages can be named.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import Final

from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from ..errors import InputError

MILLION: Final = 1_000_000
_EXPORTERS: Final = "OTEL_TRACES_EXPORTER"
_GROUP: Final = "opentelemetry_traces_exporter"
"""Group of entry points of exporters."""
_PROTOCOLS: Final = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
"""Protocol of OTLP → name of its exporter."""
_SERVICE: Final = "schedframe"
"""Name of the service where the environment says none."""


def provider_from_environment(sampled_per_million: int | None = None) -> TracerProvider:
    """Return a provider of tracers with exporters; the caller shuts it down.

    *sampled_per_million*: attempts of a million that are traced, in place of ``OTEL_TRACES_SAMPLER``. Raises
    :class:`InputError` for an exporter that is not installed or cannot be made.
    """
    exporters = [_exporter(name) for name in _names()]
    sampler = None
    if sampled_per_million is not None:
        sampler = ParentBased(TraceIdRatioBased(sampled_per_million / MILLION))
    provider = TracerProvider(sampler=sampler, resource=_resource(), shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _resource() -> Resource:
    attributes = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    is_named = bool(os.environ.get("OTEL_SERVICE_NAME")) or f"{SERVICE_NAME}=" in attributes
    return Resource.create({} if is_named else {SERVICE_NAME: _SERVICE})


def _names() -> list[str]:
    """Return the names of the exporters; ``none`` is no exporter."""
    listed = os.environ.get(_EXPORTERS, "").strip() or "otlp"
    names = [name.strip() for name in listed.split(",")]
    return [_of_protocol() if name == "otlp" else name for name in names if name not in ("", "none")]


def _of_protocol() -> str:
    for variable in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = os.environ.get(variable, "").strip()
        if protocol:
            if protocol not in _PROTOCOLS:
                raise InputError(variable, f"{protocol!r} is unknown", f"use {' or '.join(_PROTOCOLS)}")
            return _PROTOCOLS[protocol]
    return _PROTOCOLS["http/protobuf"]


def _exporter(name: str) -> SpanExporter:
    installed = entry_points(group=_GROUP)
    if name not in installed.names:
        fix = f"those installed are: {', '.join(sorted(installed.names)) or 'none'}"
        if name in _PROTOCOLS.values():
            fix = f"pip install opentelemetry-exporter-{name.replace('_', '-')}; {fix}"
        raise InputError(_EXPORTERS, f"there is no exporter {name}", fix)
    try:
        exporter: SpanExporter = installed[name].load()()
    except Exception as error:
        raise InputError(_EXPORTERS, f"the exporter {name} fails: {error}", "check OTEL_*") from error
    return exporter
