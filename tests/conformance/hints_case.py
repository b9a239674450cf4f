"""Hints of plugins against ``simulate.queueing_hint`` (``Queueing hints`` in data/README.md)."""

from __future__ import annotations

from typing import Any

import schedframe

from .corpus import Case
from .plan import Plan, waiting_for


def compare(case: Case) -> list[str]:
    """The differences between ``case["expect"]`` and what schedframe says."""
    event = f"{case['event']['resource']}/{case['event']['action']}"
    answer = schedframe.simulate.queueing_hint(
        case["plugin"],
        case["pod"],
        event,
        case["old"],
        case["new"],
        objects=case["objects"],
        config=case.get("config"),
    )
    return hint_differences(case["expect"], answer.hint, answer.error)


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """The hint of a plugin waits for that plugin."""
    waits_for = undelivered & {case["plugin"]}
    return waiting_for(waits_for) if waits_for else Plan()


def hint_differences(expect: dict[str, Any], hint: str, error: str | None) -> list[str]:
    """The hint must be equal, and an error be there where one is expected; its message is informative."""
    found = []
    if hint != expect["hint"]:
        found.append(f"hint: expected {expect['hint']}, got {hint}")
    if (expect["error"] is None) != (not error):
        found.append(f"error: expected {expect['error']!r}, got {error!r}")
    return found
