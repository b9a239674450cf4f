"""``schedframe plugins``: what there is, from where, and what is only known by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from attrs import asdict, frozen

from ..config import POINTS, installed_catalogue
from ..errors import PluginError
from ..framework import Registry
from .terminal import columns

DELIVERED = "delivered"
CATALOGUE_ONLY = "catalogue only"


@frozen
class PluginRow:
    """One plugin. ``points`` are extension points as profiles name them."""

    name: str
    state: str
    """``delivered``, or ``catalogue only``: profiles may name it, and it is left out when they run."""
    default: bool
    """Whether the default profile has it."""
    weight: int | None
    """Default weight of its scores; None for one that does not score."""
    points: tuple[str, ...]
    source: str
    """Package and version; empty if there is none."""
    target: str
    """Module and class."""
    problem: str = ""
    """Why it cannot be loaded."""


def plugin_rows() -> list[PluginRow]:
    """Installed plugins and those of the catalogue, by name."""
    registry = Registry.installed()
    catalogue = installed_catalogue()
    origins = {origin.name: origin for origin in registry.origins()}
    found = []
    for name in sorted({*origins, *catalogue.names()}):
        entry, origin = catalogue.get(name), origins.get(name)
        points, problem = (entry.points, "") if entry is not None else _points(registry, name)
        found.append(
            PluginRow(
                name,
                state=DELIVERED if origin is not None else CATALOGUE_ONLY,
                default=entry is not None and entry.default_order is not None,
                weight=((entry.weight if entry is not None else None) or 1) if "score" in points else None,
                points=points,
                source=origin.source if origin is not None else "",
                target=origin.target if origin is not None else "",
                problem=problem,
            )
        )
    return found


def _points(registry: Registry, name: str) -> tuple[tuple[str, ...], str]:
    """Extension points of a plugin that no catalogue describes, or why its class cannot be looked at."""
    try:
        return registry.points(name) or POINTS, ""
    except PluginError as error:
        return (), str(error)


def plugins_table(rows: list[PluginRow]) -> str:
    """For people."""
    head = ("NAME", "STATE", "DEFAULT", "WEIGHT", "FROM", "EXTENSION POINTS")
    return "\n".join(columns(map(_cells, rows), head, right=(3,)))


def _cells(row: PluginRow) -> tuple[str, ...]:
    weight = str(row.weight) if row.weight is not None else ""
    points = row.problem or " ".join(row.points)
    return row.name, row.state, "yes" if row.default else "no", weight, row.source or "-", points


def plugins_json(rows: list[PluginRow]) -> str:
    """For programs."""
    return json.dumps(list(_documents(rows)), indent=2)


def _documents(rows: list[PluginRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        data = asdict(row)
        if not data["problem"]:
            del data["problem"]
        yield data
