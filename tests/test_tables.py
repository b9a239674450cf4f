"""Values with rows: text, rich, HTML and data frames."""

from __future__ import annotations

import sys
from io import StringIO

import polars
import pytest
from rich.console import Console

from schedframe import InMemoryCluster, Recorder, Scheduler, Simulation, VirtualClock
from schedframe._base.tables import SHOWN, Tabular
from schedframe.testing import node, pod


def values() -> dict[str, Tabular]:
    """Return one of each class: with a pod that is placed, and one that is not."""
    objects = [node("n").allocatable(cpu="1", pods=10), pod("a"), pod("b").requests(cpu="99")]
    simulation = Simulation(objects)
    recorder = Recorder(scores=True)
    clock = VirtualClock()
    scheduler = Scheduler(InMemoryCluster(objects, clock=clock), clock=clock, observers=[recorder])
    scheduler.run_until_idle()
    return {
        "placements": simulation.schedule(),
        "pending": scheduler.pending(),
        "recorder": recorder,
        "evaluation": simulation.evaluate(pod("c")),
        "rejected": simulation.evaluate(pod("c").requests(cpu="99")),
        "nothing": Simulation().schedule(),
    }


VALUES = values()
EVALUATIONS = {"evaluation", "rejected"}


@pytest.mark.parametrize("name", VALUES)
def test_all_forms_have_the_same_head(name: str) -> None:
    value = VALUES[name]
    console = Console(file=StringIO(), width=200)
    console.print(value)
    assert isinstance(console.file, StringIO)
    rich, html = console.file.getvalue(), value._repr_html_()
    assert html.count("<table>") == 1
    if name not in EVALUATIONS:
        head, rows, count = value._texts()
        assert all(column in rich and f">{column}</th>" in html for column in head)
        assert len(str(value).splitlines()) == count + 1 == len(list(rows)) + 1


@pytest.mark.parametrize("name", VALUES)
def test_data_frames_have_every_row_and_typed_columns(name: str) -> None:
    value = VALUES[name]
    frame = value.to_dataframe()
    assert frame.columns == list(value._table().columns)
    assert frame.height == len(value._table().rows)
    assert polars.Null not in frame.dtypes
    assert frame.__arrow_c_stream__() is not None


def test_rows_of_placements() -> None:
    first, second = VALUES["placements"].to_dataframe().rows()
    assert first == ("default", "a", "n", "")
    assert second[:3] == ("default", "b", None)
    assert "Insufficient cpu" in second[3]


def test_rows_of_pending_pods_and_of_records() -> None:
    pending = VALUES["pending"].to_dataframe().row(0, named=True)
    assert (pending["pod"], pending["pool"]) == ("default/b", "unschedulable")
    assert pending["rejected_by"] == ["NodeResourcesFit"]
    records = VALUES["recorder"].to_dataframe()
    assert records["node"].to_list() == ["n", None]
    assert records["attempt"].to_list() == [1, 1]


def test_rows_of_an_evaluation_have_the_scores_of_each_plugin() -> None:
    row = VALUES["evaluation"].to_dataframe().row(0, named=True)
    plugins = {
        name: score
        for name, score in row.items()
        if name not in ("node", "verdict", "plugin", "message", "total")
    }
    assert row["verdict"] == "best"
    assert row["total"] == sum(plugins.values())
    assert len(plugins) > 3
    assert VALUES["rejected"].to_dataframe()["plugin"].to_list() == ["NodeResourcesFit"]


def test_what_is_printed_ends_with_the_number_of_other_rows() -> None:
    placements = Simulation().schedule([pod(f"p{i}") for i in range(SHOWN + 1200)])
    for text in (str(placements), placements._repr_html_()):
        assert "… and 1,200 more" in text
        assert f"p{SHOWN - 1}" in text
        assert f"p{SHOWN}" not in text
    assert placements.to_dataframe().height == SHOWN + 1200


def test_html_and_rich_show_text_as_it_is() -> None:
    placements = Simulation().schedule([pod("a")])
    placements[0].message = "<script> [red]x[/red]"
    console = Console(file=StringIO(), width=200)
    console.print(placements)
    assert isinstance(console.file, StringIO)
    assert "<script> [red]x[/red]" in console.file.getvalue()
    assert "<script>" not in placements._repr_html_()


def test_a_placement_is_one_line() -> None:
    first, second = Simulation([node("n").allocatable(cpu="1", pods=1)]).schedule([pod("a"), pod("b")])
    assert str(first) == "default/a on n"
    assert str(second).startswith("default/b pending: 0/1 nodes are available: 1 Too many pods. ")


def test_without_polars_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'schedframe\[dataframe\]'"):
        VALUES["placements"].to_dataframe()
