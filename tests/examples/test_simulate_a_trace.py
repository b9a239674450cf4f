"""The jobs of the simulated trace are what its script makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .loading import load
from .running import EXAMPLES

FOLDER = EXAMPLES / "12-simulate-a-trace"


def test_the_jobs_are_those_of_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(FOLDER / "make_jobs.py", monkeypatch).main(tmp_path / "jobs.csv")
    made = (tmp_path / "jobs.csv").read_text(encoding="utf-8")
    assert made == (FOLDER / "jobs.csv").read_text(encoding="utf-8"), "run make_jobs.py"
