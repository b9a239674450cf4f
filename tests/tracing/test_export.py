"""The provider of ``schedframe run --tracing``: what the standard variables of OpenTelemetry say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from schedframe import InMemoryCluster, InputError, Scheduler
from schedframe.cli.run.options import RunOptions
from schedframe.cli.run.spans import exported_spans
from schedframe.testing import node, pod
from schedframe.tracing import export

KEPT: list[InMemorySpanExporter] = []


class Kept(InMemorySpanExporter):
    """An exporter that can be read after the provider has made it."""

    def __init__(self) -> None:
        super().__init__()
        KEPT.append(self)


class Broken(InMemorySpanExporter):
    """An exporter that cannot be made."""

    def __init__(self) -> None:
        raise ValueError("no endpoint")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install two exporters, and set no variable."""
    here = [("kept", "Kept"), ("otlp_proto_grpc", "Kept"), ("broken", "Broken")]
    installed = EntryPoints(EntryPoint(name, f"{__name__}:{cls}", export._GROUP) for name, cls in here)
    monkeypatch.setattr(export, "entry_points", lambda group: installed.select(group=group))
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    KEPT.clear()
    yield
    KEPT.clear()


def attempts_for(pods: int, **options: object) -> int:
    """Return how many attempts are exported when *pods* are scheduled with these options."""
    with exported_spans(RunOptions(tracing="true", **options)) as tracing:  # type: ignore[arg-type]  # as given
        cluster = InMemoryCluster([node("n"), *(pod(f"p{i}") for i in range(pods))])
        Scheduler(cluster, observers=[tracing]).run_until_idle()
    return sum(span.name == "schedule_pod" for span in KEPT[-1].get_finished_spans())


def test_nothing_is_traced_without_the_flag() -> None:
    with exported_spans(RunOptions()) as tracing:
        assert tracing is None
    assert not KEPT


def test_a_rate_without_tracing_is_refused() -> None:
    with (
        pytest.raises(InputError, match="add --tracing=true"),
        exported_spans(RunOptions(tracing_sampling_rate_per_million=5)),
    ):
        pass


def test_spans_are_exported_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "kept")
    assert attempts_for(3) == 3


@pytest.mark.parametrize(("rate", "exported"), [(0, 0), (1_000_000, 20)])
def test_the_rate_has_precedence_over_the_sampler(
    monkeypatch: pytest.MonkeyPatch, rate: int, exported: int
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "kept")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off" if rate else "always_on")
    assert attempts_for(20, tracing_sampling_rate_per_million=rate) == exported


def test_the_sampler_of_the_environment_decides_without_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "kept")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    assert attempts_for(3) == 0


def test_the_protocol_chooses_the_exporter_of_otlp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert attempts_for(1) == 1


def test_an_exporter_that_is_not_installed_is_refused_with_the_package_that_has_it() -> None:
    with pytest.raises(InputError, match="pip install opentelemetry-exporter-otlp-proto-http; those"):
        export.provider_from_environment()


def test_an_exporter_that_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "broken")
    with pytest.raises(InputError, match="the exporter broken fails: no endpoint"):
        export.provider_from_environment()


def test_an_unknown_protocol_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon")
    with pytest.raises(InputError, match="use grpc or http/protobuf"):
        export.provider_from_environment()


def service_of(provider: TracerProvider) -> object:
    return provider.resource.attributes["service.name"]


def test_the_service_is_named_by_the_environment_or_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert service_of(export.provider_from_environment()) == "schedframe"
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=east")
    assert service_of(export.provider_from_environment()) == "east"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "west")
    assert service_of(export.provider_from_environment()) == "west"
