"""Names, types, labels and buckets against a recorded scrape of kube-scheduler v1.36.2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedframe.metrics import ABSENT, METRICS, OWN, Metric

RECORDED = json.loads((Path(__file__).parent / "kube_scheduler_v1_36_2.json").read_text())
REFERENCE: dict[str, dict[str, Any]] = RECORDED["scraped"] | RECORDED["registered_without_samples"]
OURS = {metric.name: metric for metric in METRICS}
OWN_NAMES = {
    "schedframe_config_reloads_total",
    "schedframe_config_last_reload_success",
    "schedframe_stale_view",
    "schedframe_stale_view_held_seconds_total",
    "schedframe_unreadable_objects",
}
"""The only metrics that kube-scheduler does not have."""
SHARED = [metric for metric in METRICS if metric.name not in OWN_NAMES]


def test_every_metric_of_the_reference_is_there_or_absent_with_a_reason() -> None:
    assert REFERENCE.keys() <= OURS.keys() | ABSENT.keys()
    assert not OURS.keys() & ABSENT.keys()
    assert all(reason.endswith(".") for reason in ABSENT.values())


def test_no_other_metric_has_a_name_that_the_reference_lacks() -> None:
    assert {metric.name for metric in SHARED} <= REFERENCE.keys()
    assert {metric.name for metric in OWN} == OWN_NAMES <= OURS.keys()
    assert not OWN_NAMES & REFERENCE.keys()


@pytest.mark.parametrize("metric", SHARED, ids=lambda metric: metric.name)
def test_type_labels_and_buckets_are_those_of_the_reference(metric: Metric) -> None:
    there = REFERENCE[metric.name]
    assert metric.kind == there["type"]
    assert sorted(metric.labels) == there["labels"]
    assert list(metric.bounds) == there.get("buckets", [])
    assert metric.help.endswith(".")
