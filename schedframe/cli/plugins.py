"""``schedframe plugins``: a table of the plugins that are installed or known by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from attrs import asdict

from .._base.value import record
from ..config import POINTS, installed_catalogue
from ..errors import PluginError
from ..framework import Registry
from ..framework.caching import decides, uncached
from ..framework.factories import plugin_class_of
from .output.terminal import columns

DELIVERED = "delivered"
CATALOGUE_ONLY = "catalogue only"


@record(frozen=True)
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
    cached: bool | None = None
    """Whether its answers are cached by equivalence class; ``None`` if unknown or not applicable."""
    not_cached: str = ""
    """Why they are not kept, and the price."""
    problem: str = ""
    """Why it cannot be loaded."""


def plugin_rows() -> list[PluginRow]:
    """Installed plugins and those of the catalogue, by name."""
    registry = Registry.installed()
    catalogue = installed_catalogue()
    origins = {origin.name: origin for origin in registry.origins()}
    rows = []
    for name in sorted({*origins, *catalogue.names()}):
        entry, origin = catalogue.get(name), origins.get(name)
        problem = _problem(registry, name) if origin is not None else ""
        points = entry.points if entry is not None else () if problem else registry.points(name) or POINTS
        cached, not_cached = _caching(registry, name) if origin is not None and not problem else (None, "")
        rows.append(
            PluginRow(
                name,
                state=DELIVERED if origin is not None else CATALOGUE_ONLY,
                default=entry is not None and entry.default_order is not None and not entry.feature_gate,
                weight=((entry.weight if entry is not None else None) or 1) if "score" in points else None,
                points=points,
                source=origin.source if origin is not None else "",
                target=origin.target if origin is not None else "",
                cached=cached,
                not_cached=not_cached,
                problem=problem,
            )
        )
    return rows


def _problem(registry: Registry, name: str) -> str:
    """Return why a plugin cannot be loaded, an empty string if it can."""
    try:
        registry.factory(name)
    except PluginError as error:
        return str(error)
    return ""


def _caching(registry: Registry, name: str) -> tuple[bool | None, str]:
    """Return whether the answers of a plugin are kept, and why they are not."""
    cls = plugin_class_of(registry.factory(name))
    if cls is None or not decides(cls):
        return None, ""
    found = uncached(name, cls)
    return found is None, "" if found is None else f"{found.reason}; {found.price}"


def plugins_table(rows: list[PluginRow]) -> list[str]:
    """For people."""
    head = ("NAME", "STATE", "DEFAULT", "WEIGHT", "CACHED", "FROM", "EXTENSION POINTS")
    lines = list(columns(map(_cells, rows), head, right=(3,)))
    notes = [f"  {row.name}: {row.not_cached}" for row in rows if row.not_cached]
    if notes:
        lines += ["", "Not cached, so called for every pod:", *notes]
    return lines


def _cells(row: PluginRow) -> tuple[str, ...]:
    weight = str(row.weight) if row.weight is not None else ""
    points = row.problem or " ".join(row.points)
    cached = "-" if row.cached is None else _yes_or_no(row.cached)
    return row.name, row.state, _yes_or_no(row.default), weight, cached, row.source or "-", points


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def plugins_json(rows: list[PluginRow]) -> str:
    """For programs."""
    return json.dumps(list(_documents(rows)), indent=2)


def _documents(rows: list[PluginRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        data = asdict(row)
        for text in ("not_cached", "problem"):
            if not data[text]:
                del data[text]
        yield data
