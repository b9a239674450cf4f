"""The examples of the original's README, and the rules of KEP 942."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedframe_node_metadata import NodeMetadata

from schedframe import ConfigError, Simulation

KEY = "node.example.com/x"


def configuration(**args: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeMetadata"}]}},
                "pluginConfig": [{"name": "NodeMetadata", "args": {"metadataKey": KEY} | args}],
            }
        ],
    }


def simulation(values: list[str | None], source: str, **args: Any) -> Simulation:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    plugins = {} if "NodeMetadata" in installed else {"NodeMetadata": NodeMetadata}
    place = "labels" if source == "Label" else "annotations"
    room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    nodes = [
        {
            "kind": "Node",
            "metadata": {"name": f"n{i}", place: {} if text is None else {KEY: text}},
            "status": {"allocatable": room},
        }
        for i, text in enumerate(values)
    ]
    return Simulation(nodes, configuration(metadataSource=source, **args), plugins=plugins)


def scores(values: list[str | None], source: str, kind: str, strategy: str, **args: Any) -> list[int]:
    world = simulation(values, source, metadataType=kind, scoringStrategy=strategy, **args)
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    decision = world.evaluate(pod).decision
    assert decision is not None
    assert decision.scores is not None
    found: list[int] = decision.scores.total.tolist()
    return found


def test_higher_numbers_win() -> None:
    assert scores(["100", "50"], "Label", "Number", "Highest") == [100, 1]


def test_lower_cost_wins_and_fractions_are_rounded() -> None:
    assert scores(["2.5", "1.2"], "Annotation", "Number", "Lowest") == [1, 100]
    assert scores(["1.2", "0.9", "5"], "Annotation", "Number", "Highest") == [1, 1, 100]


def test_newer_times_win() -> None:
    times: list[str | None] = ["2025-12-01T10:00:00Z", "2025-12-03T10:00:00Z", "2025-12-02T12:00:00+02:00"]
    assert scores(times, "Annotation", "Timestamp", "Newest") == [1, 100, 50]


def test_older_days_win() -> None:
    days: list[str | None] = ["2025-11-01", "2025-12-01"]
    assert scores(days, "Label", "Timestamp", "Oldest", timestampFormat="2006-01-02") == [100, 1]


@pytest.mark.parametrize(
    ("layout", "early", "late"),
    [
        ("2006-01-02 15:04:05", "2025-12-04 10:30:00", "2025-12-04 10:30:01"),
        ("Mon Jan 02 2006 03:04 PM", "Thu Dec 04 2025 11:59 AM", "Thu Dec 04 2025 12:01 PM"),
        ("02/01/06", "04/12/25", "05/12/25"),
        ("2006-01-02T15:04:05.000Z07:00", "2025-12-04T10:30:00.5Z", "2025-12-04T10:30:01Z"),
    ],
)
def test_layouts(layout: str, early: str, late: str) -> None:
    assert scores([early, late], "Annotation", "Timestamp", "Newest", timestampFormat=layout) == [1, 100]


def test_nodes_without_a_valid_value_score_0_and_all_others_more() -> None:
    assert scores(["7", None, "many", "nan", "3"], "Label", "Number", "Highest") == [100, 0, 0, 0, 1]
    assert scores(["soon", "2025-12-04"], "Label", "Timestamp", "Newest") == [0, 0]
    assert scores(["-5", None], "Annotation", "Number", "Lowest") == [1, 0]


def test_equal_values_score_the_same() -> None:
    assert scores(["7", "7"], "Label", "Number", "Highest") == [1, 1]
    assert scores([None, None], "Label", "Number", "Highest") == [0, 0]


texts = st.none() | st.integers(-50, 50).map(str) | st.floats().map(str) | st.sampled_from(["", "x"])


@given(st.lists(texts, min_size=1, max_size=5), st.sampled_from(["Highest", "Lowest"]))
@settings(max_examples=15, deadline=None)
def test_both_forms_agree_and_scores_are_in_range(values: list[str | None], strategy: str) -> None:
    world = simulation(values, "Annotation", metadataType="Number", scoringStrategy=strategy)
    (framework,) = world.scheduler.core.frameworks.values()
    plugin = framework.plan.plugins["NodeMetadata"]
    rows = world.scheduler.core.cache.table.rows()
    raw = plugin.score_rows(rows)
    assert raw.tolist() == [plugin.score(info) for info in rows]
    plugin.normalize_scores(raw)
    assert raw.min() >= 0
    assert raw.max() <= 100


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"metadataKey": ""}, "metadataKey"),
        ({"metadataSource": "Taint"}, "metadataSource"),
        ({"scoringStrategy": "Newest"}, "scoringStrategy.*must be Highest or Lowest for a Number"),
        ({"metadataType": "Timestamp"}, "scoringStrategy.*must be Newest or Oldest"),
        ({"timestampFormat": "15:04"}, "timestampFormat.*has no year"),
        ({"timestampFormat": "2006-1-2"}, "timestampFormat.*stands for nothing"),
    ],
)
def test_wrong_args_are_refused_with_their_path(args: dict[str, Any], message: str) -> None:
    right = {"metadataType": "Number", "scoringStrategy": "Highest"}
    with pytest.raises(ConfigError, match=message):
        simulation([], **{"source": "Label", **right, **args} if "metadataSource" not in args else _as(args))


def _as(args: dict[str, Any]) -> dict[str, Any]:
    return {"source": args["metadataSource"], "metadataType": "Number", "scoringStrategy": "Highest"}
