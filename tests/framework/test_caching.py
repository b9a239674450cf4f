"""Which plugins are called for every pod, why, and where that is reported."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from schedframe import Depends, Normalization, Registry
from schedframe.cycle.equivalence.cacheability import partition_plan
from schedframe.framework.caching import decides, uncached, uncached_of

from ..cycle.build import PROFILE, World
from .fakes import plugin_class


def signed(**attributes: Any) -> type[Any]:
    return plugin_class(pod_signature=lambda self: (), depends_on=Depends.ROW, **attributes)


def test_plugins_that_are_cached_or_decide_nothing() -> None:
    for cls in (
        signed(filter=lambda self: None),
        signed(score=lambda self: 0, normalization=Normalization.BY_MAX),
        plugin_class(reserve=lambda self: None),
    ):
        assert uncached("P", cls) is None
        assert uncached("P", cls()) is None


@pytest.mark.parametrize(
    ("cls", "reason", "price"),
    [
        (
            plugin_class(filter=lambda self: None),
            "no pod_signature and its answers depend",
            "filter is called for the best nodes at each pod until enough pass",
        ),
        (
            plugin_class(score=lambda self: 0, depends_on=Depends.ROW),
            "it has no pod_signature",
            "score is called for every node at each pod that it does not skip: some 60 times the time",
        ),
        (
            plugin_class(filter=lambda self: None, score=lambda self: 0),
            "it has no pod_signature",
            "filter and score are called for every node at each pod",
        ),
        (
            plugin_class(pod_signature=lambda self: (), score_rows=lambda self: 0),
            "its answers depend on the whole cluster (depends_on)",
            "its columnar forms run over all nodes",
        ),
        (
            signed(score_rows=lambda self: 0, normalize_scores=lambda self: None),
            "normalize_scores needs all scores",
            "its columnar forms",
        ),
        (plugin_class(pre_filter=lambda self: None), "it has no pod_signature", "it is called for each pod"),
    ],
)
def test_the_reason_and_the_price(cls: Any, reason: str, price: str) -> None:
    found = uncached("P", cls)
    assert found is not None
    assert reason in found.reason
    assert price in found.price
    assert str(found).startswith("P is not cached: ")


def test_it_agrees_with_what_the_cache_does() -> None:
    framework = World().scheduler.core.frameworks[PROFILE]
    parts = partition_plan(framework)
    assert parts is not None
    plugins = framework.plan.plugins
    cached = {entry.name for point in (parts.cached.filter, parts.cached.score) for entry in point}
    live = {name for name, plugin in plugins.items() if decides(plugin)} - cached
    expected = {found.plugin for found in uncached_of(plugins)}
    assert expected == {name for name in live if Registry.installed().points(name)}


def test_one_line_of_the_log_for_each_profile_at_start(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "schedframe")
    world = World({"Plain": plugin_class(filter=lambda self: None)})
    world.settle()
    world.settle()
    (line,) = [record.getMessage() for record in caplog.records if "is not cached" in record.getMessage()]
    assert line.startswith(f"profile {PROFILE}: ")
    assert "Plain is not cached: it has no pod_signature" in line
    assert "up to 10 times the time of the default profile" in line
