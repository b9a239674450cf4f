"""The tables of docs/reference/metrics.md, from the definitions: ``python docs/_tools/metrics_page.py``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from schedframe.metrics import ABSENT, METRICS, OWN, Metric

PAGE: Final = Path(__file__).resolve().parents[1] / "reference" / "metrics.md"
BEGIN: Final = "<!-- tables -->"


def tables() -> str:
    """Return the tables as Markdown."""
    lines = _table([metric for metric in METRICS if metric not in OWN])
    lines += ["", "## Only here", "", "kube-scheduler has no such metrics.", *_table(OWN)]
    lines += ["", "## Not here", "", "| metric of kube-scheduler | why |", "| --- | --- |"]
    lines += [f"| `{name}` | {reason} |" for name, reason in ABSENT.items()]
    return "\n".join(lines) + "\n"


def _table(metrics: Iterable[Metric]) -> list[str]:
    lines = ["", "| metric | type | labels | what |", "| --- | --- | --- | --- |"]
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |")
    return lines


def main() -> None:
    """Write the tables into the page."""
    head = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    PAGE.write_text(f"{head}{BEGIN}\n{tables()}", encoding="utf-8")


if __name__ == "__main__":
    main()
