"""Benchmarks: what is counted and reported, at sizes where speed says nothing."""

from __future__ import annotations

import gc
import json

import pytest

from schedframe.bench import TEMPLATES, Options, as_line, as_text, run, runner
from schedframe.cycle import Meter
from schedframe.errors import InputError

KEYS = [
    "template",
    "nodes",
    "init",
    "pods",
    "scheduled",
    "unschedulable",
    "attempts",
    "seconds",
    "cpu_seconds",
    "pods_per_s",
    "attempts_per_s",
    "pods_per_cpu_s",
    "attempts_per_cpu_s",
    "p50_us",
    "p99_us",
    "seed",
    "percentage",
    "metrics",
    "rss_mb",
]


def test_basic_counts_its_pods() -> None:
    figures = run("basic", Options(nodes=4, init=3, pods=10))
    assert list(figures) == KEYS
    assert [figures[key] for key in KEYS[:7]] == ["basic", 4, 3, 10, 10, 0, 10]
    assert 0 < figures["p50_us"] <= figures["p99_us"]


def test_pods_without_room_are_attempted_and_counted() -> None:
    """A node of 4 CPUs has room for 40 pods of 100m; 5 are running."""
    figures = run("basic", Options(nodes=1, init=5, pods=50))
    assert (figures["scheduled"], figures["unschedulable"], figures["attempts"]) == (35, 15, 50)


def test_no_pods_make_no_figures() -> None:
    figures = run("basic", Options(nodes=1, init=0, pods=0))
    assert (figures["attempts"], figures["pods_per_s"], figures["p50_us"]) == (0, 0.0, None)


@pytest.mark.parametrize("percentage", [None, 0, 30])
def test_sampling_places_all_pods_too(percentage: int | None) -> None:
    figures = run("basic", Options(nodes=200, init=0, pods=20, percentage=percentage))
    assert (figures["scheduled"], figures["percentage"]) == (20, percentage)


def test_metrics_are_counted_if_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    meters: list[Meter] = []
    monkeypatch.setattr(runner, "Meter", lambda: meters.append(Meter()) or meters[-1])
    assert run("basic", Options(nodes=4, init=0, pods=10))["metrics"] is False
    assert meters == []
    assert run("basic", Options(nodes=4, init=0, pods=10, metrics=True))["metrics"] is True
    families = meters[0].families()
    (attempts,) = [each for each in families if each.metric.name == "scheduler_schedule_attempts_total"]
    assert attempts.samples["scheduled", "default-scheduler"] == 10
    with pytest.raises(InputError, match="--metrics: queue measures without metrics"):
        run("queue", Options(pods=5, metrics=True))


def test_queue_measures_the_queue_alone() -> None:
    figures = run("queue", Options(pods=50))
    assert list(figures) == [
        "template",
        "queued",
        "add_pop_done_us",
        "unschedulable",
        "idle_event_ms",
        "rss_mb",
    ]
    assert (figures["queued"], figures["unschedulable"]) == (50, 50)


@pytest.mark.usefixtures("nothing_exempt")
def test_the_collector_is_left_as_it_was() -> None:
    run("basic", Options(nodes=1, init=0, pods=1))
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_progress_names_each_step() -> None:
    steps: list[str] = []
    run("basic", Options(nodes=2, init=1, pods=3), steps.append)
    assert steps == ["creating 2 nodes", "creating 1 running pods", "creating 3 pods", "scheduling 3 pods"]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="no template quick; use one of basic, mixed-sizes"):
        run("quick", Options())
    with pytest.raises(InputError, match="--pods: -1 is negative"):
        run("basic", Options(pods=-1))
    with pytest.raises(InputError, match="--percentage: 101 is no percentage"):
        run("basic", Options(percentage=101))


def test_every_template_has_a_summary_and_one_way_to_measure() -> None:
    assert all(template.summary for template in TEMPLATES.values())
    assert all((template.operations is None) != (template.measure is None) for template in TEMPLATES.values())


def test_figures_as_a_line_and_as_text() -> None:
    figures = {"template": "basic", "pods": 10000, "p50_us": None}
    assert json.loads(as_line(figures)) == figures
    assert as_text(figures).splitlines() == ["template  basic", "pods      10,000", "p50_us    -"]


def test_forks_are_measured_by_core_answers_and_reverts() -> None:
    figures = run("fork", Options(nodes=10, init=40, pods=20))
    assert list(figures)[:4] == ["template", "nodes", "init", "core_ms"]
    assert figures["nodes"] == 10
    counted = ("core_ms", "ready_ms", "trials_per_second", "trials_per_second_first_of_class")
    assert all(figures[name] > 0 for name in (*counted, "revert_us_per_pod", "revert_us_per_node"))
