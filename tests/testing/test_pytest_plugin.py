"""The fixtures, in a pytest of their own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from schedframe.testing import pytest_plugin

TESTS = """
import pytest
from attrs import define

from schedframe import hookimpl
from schedframe.testing import node, pod


@define(eq=False)
class Fussy:
    @hookimpl
    def score(self, node_info):
        raise RuntimeError("no idea")


@pytest.fixture
def schedframe_options():
    return {"plugins": {"Fussy": Fussy}, "config": CONFIG}


CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Fussy"}]}}}],
}


def test_placed(schedframe_cluster, schedframe_scheduler, schedframe_recorder):
    schedframe_cluster.create(node("n"))
    schedframe_cluster.create(pod("p"))
    schedframe_scheduler.run_until_idle()
    assert schedframe_recorder.placements == {"default/p": "n"}
    assert schedframe_recorder.calls_of("NodeResourcesFit")
    assert not schedframe_recorder.faults


def test_faults(schedframe_cluster, schedframe_scheduler, schedframe_recorder):
    for name in "ab":
        schedframe_cluster.create(node(name))
    schedframe_cluster.create(pod("p"))
    schedframe_scheduler.run_until_idle()
    assert schedframe_recorder.placements == {}
    (status, of), *_ = schedframe_recorder.faults
    assert "no idea" in status.message
    assert of.key == "default/p"


def test_time(schedframe_scheduler, schedframe_clock):
    before = schedframe_scheduler.core.clock()
    schedframe_clock.advance(60)
    assert schedframe_scheduler.core.clock() == before + 60
"""


def run(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=at, capture_output=True, text=True, check=False, timeout=120
    )


def test_fixtures_are_there_without_a_conftest(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", at=tmp_path)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_names_of_fixtures_are_no_words_of_other_projects() -> None:
    source = Path(pytest_plugin.__file__).read_text(encoding="utf-8")
    functions = [each.name for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)]
    assert len(functions) == 5
    assert all(name.startswith("schedframe_") for name in functions)


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import schedframe.testing", ("pytest", "hypothesis", "numpy")),
        ("import schedframe.testing.pytest_plugin", ("hypothesis", "numpy", "schedframe.cycle")),
        ("from schedframe.testing import pod", ("pytest", "hypothesis", "numpy")),
        ("from schedframe.testing import check_plugin", ("pytest", "hypothesis")),
    ],
)
def test_what_is_not_needed_is_not_imported(statement: str, absent: tuple[str, ...], tmp_path: Path) -> None:
    program = f"import sys; {statement}; print([name for name in {absent!r} if name in sys.modules])"
    done = run("-c", program, at=tmp_path)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
