"""The runner as a user sees it: run on small families with a stand-in for schedframe."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .corpus import SUFFIX, Corpus
from .families import FAMILIES
from .scheduling_case import reduce_expectation

ROOT = Path(__file__).parents[2]

# Answers with what is expected, but for the pod of a case that is meant to fail.
ECHO = """
import json, os, schedframe
from pathlib import Path

PAIRS = json.loads(Path(os.environ["ECHO"]).read_text())
ANSWERS = {json.dumps(pod, sort_keys=True): expect for pod, expect in PAIRS}

class Evaluation:
    def __init__(self, expect): self.expect = expect
    def to_dict(self): return self.expect

def evaluate(objects, pod, config=None):
    return Evaluation(ANSWERS[json.dumps(pod, sort_keys=True)])

schedframe.evaluate = evaluate

from tests.conformance import undelivered
undelivered.UNDELIVERED = frozenset({"NotThere"})
"""

MISSING = "NotThere"
UNDELIVERED = frozenset({MISSING})
"""What the runs below count as missing."""


def write_families(directory: Path, families: dict[str, list[dict[str, Any]]]) -> None:
    for family, cases in families.items():
        with gzip.open(directory / f"{family}{SUFFIX}", "wt") as file:
            file.writelines(json.dumps(case) + "\n" for case in cases)


def run(tmp_path: Path, families: dict[str, list[dict[str, Any]]], *options: str) -> tuple[int, str]:
    data = tmp_path / "data"
    data.mkdir()
    write_families(data, families)
    answers = [
        (case["pod"], case.pop("answer", case["expect"])) for cases in families.values() for case in cases
    ]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    (tmp_path / "echo_plugin.py").write_text(ECHO)
    command = [sys.executable, "-m", "pytest", "tests/conformance/test_conformance.py"]
    command += ["-p", "echo_plugin", "-p", "no:cacheprovider", "--conformance-dir", str(data), *options]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "ECHO": str(tmp_path / "answers.json"), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "workers"])
def test_what_was_not_compared_does_not_pass(
    tmp_path: Path, bundled: Corpus, options: tuple[str, ...]
) -> None:
    missing = MISSING
    waiting = next(case for case in bundled.cases("dra") if case["expect"]["filter"])
    for status in waiting["expect"]["filter"].values():
        status |= {"code": "Unschedulable", "plugin": missing, "reasons": ["not now"]}
    partly = bundled.case("taints", 3)
    partly["expect"]["prefilter"]["skip_filter_plugins"].append(missing)
    partly["answer"] = reduce_expectation(partly["expect"], UNDELIVERED).expect
    wrong = bundled.case("taints", 4)
    wrong["expect"]["feasible"] = ["n77"]
    wrong["answer"] = reduce_expectation(bundled.case("taints", 4)["expect"], UNDELIVERED).expect
    code, output = run(tmp_path, {"dra": [waiting], "taints": [partly, wrong]}, "-k", "test_case", *options)
    assert code == 1
    assert all(count in output.splitlines()[-1] for count in ("1 failed", "1 passed", "1 waiting"))
    assert "taints taints-004\nfeasible" in output
    assert "taints: 1 compared in part, 1 FAILED\n    differing: feasible (1)" in output
    assert f"dra: 1 waiting\n    waiting for: {missing} (1)" in output
    without_comparer = [family for family, comparer in FAMILIES.items() if comparer is None]
    assert all(f"{family}: not yet compared" in output for family in without_comparer)


def test_a_missing_family_and_an_unknown_one_fail(tmp_path: Path, bundled: Corpus) -> None:
    case = bundled.case("taints", 3)
    case["answer"] = reduce_expectation(case["expect"], UNDELIVERED).expect
    code, output = run(tmp_path, {"taints": [case], "tints": []})
    assert code == 1
    missing = FAMILIES.keys() - {"taints"}
    assert all(f"test_family_is_there[{family}]" in output for family in missing)
    assert "test_no_family_is_overlooked" in output
    assert f"{len(missing) + 1} failed, 2 passed" in output
