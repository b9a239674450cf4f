"""Pages about plugins, followed word by word."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schedframe.testing.checks import CHECKS

from ..docs.snippets import ROOT, Block, blocks
from ..docs.test_snippets import _commands, _pattern

TUTORIAL = ROOT / "docs" / "tutorial" / "your-first-plugin.md"
HOW_TO = ROOT / "docs" / "how-to" / "test-a-plugin.md"

PIP = """#!{python}
# Installs what an editable install needs: the metadata. Sources are on the path already.
import pathlib, sys, tomllib

target = sys.argv[-1].partition("[")[0]
if target != "schedframe":
    project = tomllib.loads((pathlib.Path(target) / "pyproject.toml").read_text())["project"]
    metadata = pathlib.Path({site!r}) / (project["name"].replace("-", "_") + "-0.1.0.dist-info")
    metadata.mkdir()
    text = f"Metadata-Version: 2.1\\nName: {{project['name']}}\\nVersion: 0.1.0\\n"
    (metadata / "METADATA").write_text(text)
    ((group, points),) = project["entry-points"].items()
    lines = [f"[{{group}}]", *(f"{{name}} = {{target}}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\\n".join(lines))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Scripts of this interpreter, and a pip that needs no network."""
    scripts, site = tmp_path / "bin", tmp_path / "site"
    scripts.mkdir()
    site.mkdir()
    pip = scripts / "pip"
    pip.write_text(PIP.format(python=sys.executable, site=str(site)))
    pip.chmod(0o755)
    sources = tmp_path / "here" / "rack-rank" / "src"
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(scripts), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(sources), str(site)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "110",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


@pytest.mark.slow
def test_the_tutorial_can_be_followed(tmp_path: Path, environment: dict[str, str]) -> None:
    here = tmp_path / "here"
    here.mkdir()

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    tested: list[str] = []
    for block in blocks(TUTORIAL):
        if block.language == "sh":
            assert run(f"set -e\n{block.text}") == "", f"line {block.first_line}"
        elif block.language == "console":
            for command, shown in _commands(block):
                output = run(command)
                assert _pattern(shown).fullmatch(output), f"line {block.first_line}: {output}"
                if command.startswith("pytest"):
                    tested.append(output)
        elif block.language == "toml":
            assert block.text in (here / "rack-rank" / "pyproject.toml").read_text()
    whole, broken = tested
    assert "passed" in whole
    assert "failed" not in whole
    (report,) = (block for block in blocks(TUTORIAL) if block.language == "text")
    assert report.lines[0].partition(" says passes")[0].partition(": pod")[0] in broken
    assert report.lines[1].strip() in broken
    assert f"`{Path('tests') / 'test_contract.py'}`" in TUTORIAL.read_text()


def test_every_check_is_on_the_page() -> None:
    rows = [line for line in HOW_TO.read_text().splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(check.name for check in CHECKS)


def _python(page: Path) -> str:
    def source(block: Block) -> str:
        return block.text if block.language == "python" else ""

    return "\n\n".join(map(source, blocks(page)))


@pytest.mark.slow
def test_the_tests_on_the_page_pass(tmp_path: Path) -> None:
    (tmp_path / "test_page.py").write_text(_python(HOW_TO))
    command: list[Any] = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "passed" in done.stdout, done.stdout + done.stderr
    assert "failed" not in done.stdout, done.stdout
