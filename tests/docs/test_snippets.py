"""What the documentation shows works: Python is run, commands give the output that stands below them."""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from tests import warm

from .snippets import PAGES, ROOT, Block, blocks, page_id

LANGUAGES = {"python", "console", "sh", "yaml", "json", "toml", "text", "{toctree}"}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_blocks_say_what_they_are_and_python_is_never_left_out(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"line {block.first_line}: a block in {block.language!r}"
        assert "no-run" not in block.line_before or block.language in {"sh", "console"}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_python_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page are one module, run from the top in the project's folder."""
    module = ModuleType(f"docs_page_{re.sub(r'[^a-z]+', '_', page_id(page).lower())}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(ROOT)
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.first_line - 1) + block.text
            exec(compile(source, str(page), "exec"), module.__dict__)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_print_what_is_shown(page: Path) -> None:
    for block in blocks(page):
        if block.language == "console" and "no-run" not in block.line_before:
            for command, shown in _commands(block):
                assert command.startswith("schedframe "), f"line {block.first_line}: only schedframe is run"
                assert _pattern(shown).fullmatch(_output(command)), f"{command}\n{_output(command)}"


def _commands(block: Block) -> list[tuple[str, list[str]]]:
    """Each ``$ command`` with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"line {block.first_line}: output without a command"
            found[-1][1].append(line)
    return found


def _pattern(shown: list[str]) -> re.Pattern[str]:
    """Matches *shown*; a line ``...`` stands for any number of lines, trailing spaces do not count."""
    parts = [r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()) + r" *\n" for line in shown]
    return re.compile("".join(parts))


def _output(command: str) -> str:
    environment = warm.environment(COLUMNS="110", NO_COLOR="1", TERM="dumb")
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), f"{page_id(page)} links to {target}"


def test_every_page_is_in_the_navigation() -> None:
    """Pages join by being in a folder of the index; to be listed there with a sentence is better still."""
    trees = (block for block in blocks(ROOT / "docs" / "index.md") if block.language == "{toctree}")
    entries = [line for tree in trees for line in tree.lines if line and not line.startswith(":")]
    for page in PAGES:
        name = page_id(page).removeprefix("docs/").removesuffix(".md")
        assert name in {"README", "index"} or any(fnmatch(name, entry) for entry in entries), name
