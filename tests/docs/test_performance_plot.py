"""The plot of cost against nodes."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from .tools import import_tool

plot: Any = import_tool("performance_plot")


def test_axes_are_logarithmic() -> None:
    scale = plot.Scale(first=1, last=3, start=0, end=100)
    assert [scale.at(value) for value in (10, 100, 1000)] == [0, 50, 100]


def test_costs_are_the_inverse_of_rates(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    runs = [("basic", 500, n) for n in (8_000.0, 10_000.0, 30_000.0)]
    runs += [("basic", 50, 20_000.0), ("taints", 50, 1.0)]
    figures = [{"template": t, "nodes": n, "pods_per_cpu_s": r} for t, n, r in runs]
    file.write_text("\n".join([*map(json.dumps, figures), ""]), encoding="utf-8")
    assert plot.own_series(figures) == [(50, 50.0), (500, 100.0)]
    nodes, cost = plot.peer_series()["kube-scheduler, all nodes scored"][0]
    assert nodes == 500
    assert cost == pytest.approx(1e6 / sqrt(896 * 1031))
    assert plot.main([str(file)]) == plot.draw(
        {"schedframe, all nodes scored": plot.own_series(figures), **plot.peer_series()}
    )


def test_the_plot_is_an_image_with_every_point() -> None:
    root = ElementTree.fromstring(plot.draw({"one": [(10, 5.0), (1000, 50.0)], "two": [(100, 7.0)]}))
    names = [element.tag.rpartition("}")[2] for element in root]
    assert names.count("circle") == 3
    assert {"one", "two"} <= {element.text for element in root}


def test_the_plot_needs_a_file() -> None:
    assert plot.main([]).startswith("usage")
