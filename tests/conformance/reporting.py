"""How conformance cases show in pytest's report: waiting and excluded ones are not "passed".

These hooks run where the report is written, which under pytest-xdist is not where the cases run; what a case
has to tell travels in its ``user_properties``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from attrs import Factory, define

from .corpus import BUNDLED
from .families import FAMILIES
from .plan import Plan

PROPERTY = "conformance"
DIFFERING = "conformance-differing"
_STATUS = {
    "waiting": ("waiting", "w", "WAITING"),
    "excluded": ("excluded", "-", "EXCLUDED"),
}


def add_directory_option(parser: pytest.Parser) -> None:
    """Add the option that runs the comparers on other data of the same form."""
    parser.addoption(
        "--conformance-dir",
        type=Path,
        default=BUNDLED,
        metavar="DIR",
        help="directory with the conformance cases, <family>.jsonl.gz (default: tests/conformance/data)",
    )


def properties(family: str, plan: Plan) -> tuple[str, list[object]]:
    """*plan* as an entry of ``user_properties``: plain values that cross from a worker to the report."""
    return PROPERTY, [family, plan.state, list(plan.reasons)]


def differing(lines: Iterable[str]) -> tuple[str, list[str]]:
    """The parts in which a case differs, named by the first words of its *lines*: see :func:`properties`."""
    return DIFFERING, sorted({re.split(r"[^\w ]", line, maxsplit=1)[0] for line in lines})


def _planned(report: pytest.TestReport) -> tuple[str, str, list[str]] | None:
    for name, value in report.user_properties:
        if name == PROPERTY:
            family, state, reasons = cast("tuple[str, str, list[str]]", value)
            return family, state, reasons
    return None


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> object:
    """A case that was not compared counts as waiting or excluded."""
    if isinstance(report, pytest.TestReport) and report.when == "call" and report.passed:
        planned = _planned(report)
        if planned is not None:
            return _STATUS.get(planned[1])
    return None


@define
class _Tally:
    whole: int = 0
    in_part: int = 0
    failed: int = 0
    waiting: int = 0
    excluded: int = 0
    parts: Counter[str] = Factory(Counter)
    missing: Counter[str] = Factory(Counter)
    exclusions: Counter[str] = Factory(Counter)
    differing: Counter[str] = Factory(Counter)

    def add(self, state: str, reasons: list[str], *, failed: bool) -> None:
        if failed:
            self.failed += 1
        elif state == "waiting":
            self.waiting += 1
            self.missing.update(reasons)
        elif state == "excluded":
            self.excluded += 1
            self.exclusions.update(reasons)
        else:
            self.whole += not reasons
            self.in_part += bool(reasons)
            self.parts.update(reasons)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what of each family was compared and what was not."""
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for outcome in ("passed", "failed", "waiting", "excluded"):
        for report in terminalreporter.stats.get(outcome, ()):
            planned = _planned(report) if isinstance(report, pytest.TestReport) else None
            if planned is not None:
                tally = tallies[planned[0]]
                tally.add(planned[1], planned[2], failed=outcome == "failed")
                for name, value in report.user_properties:
                    if name == DIFFERING:
                        tally.differing.update(cast("list[str]", value))
    if not tallies:
        return
    terminalreporter.section("conformance")
    for family in FAMILIES:
        if family in tallies:
            for line in _lines(family, tallies[family]):
                terminalreporter.line(line)
    for family, comparer in FAMILIES.items():
        if comparer is None:
            terminalreporter.line(f"{family}: not yet compared")


def _lines(family: str, tally: _Tally) -> list[str]:
    counts = [
        (tally.whole, "compared whole"),
        (tally.in_part, "compared in part"),
        (tally.failed, "FAILED"),
        (tally.waiting, "waiting"),
        (tally.excluded, "excluded by design"),
    ]
    lines = [f"{family}: " + ", ".join(f"{count} {what}" for count, what in counts if count)]
    details = (
        ("differing", tally.differing),
        ("left out", tally.parts),
        ("waiting for", tally.missing),
        ("excluded", tally.exclusions),
    )
    for what, counter in details:
        if counter:
            lines.append(f"    {what}: " + "; ".join(f"{name} ({n})" for name, n in sorted(counter.items())))
    return lines
