"""A run as a picture: utilisation, waiting times, nodes over time, shares of owners.

Colours are those of Okabe and Ito, which people with any colour vision tell apart; lines differ by their
dashes too, and the map of nodes grows darker evenly, so that a grey print can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .._base.extras import require
from .._base.visible import visible
from ..traces.columns import Array, ColumnTable, Ints
from ..traces.times import UNITS
from .history import REJECTED, History

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MOST_OWNERS: Final = 10
"""Owners that are shown, those with the largest shares."""
_ROWS, _COLUMNS = 200, 300
"""Cells of the map of nodes; more nodes share a row by their mean."""


def drawn(history: History, samples: ColumnTable, owners: ColumnTable) -> Figure:
    """Return a figure of four parts; it is not shown, and no state of pyplot changes."""
    require("plot", "a plot", "matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    (first, second), (third, fourth) = figure.subplots(2, 2)
    unit, name = _unit(history.end)
    _utilisation(first, history, samples, unit, name)
    _waits(second, history)
    _nodes(third, history, unit, name)
    _owners(fourth, owners)
    return figure


def _unit(end: int) -> tuple[int, str]:
    """Return the unit of the time axes: the largest of which the run has three."""
    for name, spelled in (("d", "days"), ("h", "hours"), ("m", "minutes")):
        if end >= 3 * UNITS[name]:
            return UNITS[name], spelled
    return UNITS["s"], "seconds"


def _utilisation(axes: Any, history: History, samples: ColumnTable, unit: int, name: str) -> None:
    times = samples["time"] / unit
    for index, resource in enumerate(history.trace.resources):
        there = samples[f"allocatable[{resource}]"]
        if there.any():
            share = samples[f"allocated[{resource}]"] / np.maximum(there, 1)
            style = {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}
            axes.plot(times, share, label=_label(resource), linewidth=1.4, **style)
    axes.set(title="Utilisation", xlabel=name, ylabel="allocated ÷ allocatable", ylim=(0, 1.02))
    waiting = axes.twinx()
    waiting.fill_between(times, samples["waiting"], step="post", color="0.6", alpha=0.35, linewidth=0)
    waiting.set_ylabel("pods that wait (grey)")
    waiting.set_ylim(bottom=0)
    axes.set_zorder(waiting.get_zorder() + 1)
    axes.patch.set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize="small")


def _waits(axes: Any, history: History) -> None:
    """Draw the share of the pods that started within a time; censored ones keep the line below 1."""
    pods = history.pods
    known = pods["state"] != REJECTED
    started = known & (pods["start"] >= 0)
    wait = np.sort(pods["wait"][started]) / UNITS["s"]
    count = int(np.count_nonzero(known))
    axes.set(title="Waiting time", xlabel="seconds", ylabel="share of pods that started", ylim=(0, 1.02))
    if count:
        share = np.arange(1, len(wait) + 1) / count
        axes.step(np.r_[0.0, wait], np.r_[0.0, share], where="post", color=COLOURS[0], linewidth=1.6)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(left=0)
        censored = count - len(wait)
        axes.text(0.03, 0.93, f"{censored:,} of {count:,} pods did not start", transform=axes.transAxes)


def _nodes(axes: Any, history: History, unit: int, name: str) -> None:
    image = axes.imshow(
        node_map(history),
        aspect="auto",
        origin="lower",
        cmap="cividis_r",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(0, max(history.end, 1) / unit, 0, max(len(history.trace.nodes), 1)),
    )
    axes.set(title="Nodes: the fullest resource", xlabel=name, ylabel="node")
    axes.figure.colorbar(image, ax=axes, label="allocated ÷ allocatable")


def node_map(history: History) -> Array:
    """Return nodes × time: the largest share of a resource that is allocated; NaN where no node is up."""
    trace, stints, ups = history.trace, history.stints, history.ups
    count = len(trace.nodes)
    rows = max(1, min(_ROWS, count))
    row: Ints = np.arange(count) * rows // max(count, 1)
    there = np.maximum(trace.allocatable[trace.nodes["template"]], 1)
    image = np.full((rows, _COLUMNS), np.nan)
    for column in range(_COLUMNS):
        moment = (2 * column + 1) * history.end // (2 * _COLUMNS)
        up = ups.entity[(ups.start <= moment) & (ups.stop > moment)]
        running = (stints.start <= moment) & (stints.stop > moment)
        used = np.zeros(there.shape, np.int64)
        np.add.at(used, history.stint_nodes[running], trace.requests[history.stint_templates[running]])
        share = (used / there).max(1, initial=0.0)
        number = np.bincount(row[up], minlength=rows)
        total = np.bincount(row[up], weights=share[up], minlength=rows)
        image[:, column] = np.divide(total, number, out=np.full(rows, np.nan), where=number > 0)
    return image


def _owners(axes: Any, owners: ColumnTable) -> None:
    order = np.argsort(-owners["share"], kind="stable")[:MOST_OWNERS][::-1]
    names = [_label(str(name)) for name in owners.taken(order).decoded("owner")]
    axes.barh(names, owners["share"][order], color=COLOURS[5], edgecolor="black", linewidth=0.6)
    more = len(owners) - len(order)
    title = f"Owners: dominant share ({more:,} more)" if more else "Owners: dominant share"
    axes.set(title=title, xlabel="share of the cluster")
    if not len(owners):
        axes.text(0.5, 0.5, "no owners", transform=axes.transAxes, ha="center", color="0.4")


def _label(text: str) -> str:
    """Return a name as matplotlib shows it: without mathematics, control characters and great lengths."""
    text = visible(text).replace("$", r"\$")
    return text if len(text) <= 40 else text[:39] + "…"
