"""Commands that the documentation shows exist, with their options, also where none is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from schedframe.cli.app import app
from schedframe.cli.later import LaterCommand

from .snippets import PAGES, blocks, page_id

COMMAND = re.compile(r"""(?:^|[$|(;] *)(schedframe (?:'[^']*'|"[^"]*"|[^|;<>&#)])*)""")
INLINE = re.compile(r"`(schedframe [^`]*)`")


def shown(page: Path) -> Iterator[str]:
    """Yield each command of a page: in blocks of a shell, and in the text."""
    for block in blocks(page):
        if block.language in ("sh", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                for match in COMMAND.finditer(line):
                    yield match[1]
    for match in INLINE.finditer(page.read_text(encoding="utf-8")):
        yield from (each[1] for each in COMMAND.finditer(match[1]))


def problem_of(command: str) -> str | None:
    """Return what a command line has that the command does not take, ``None`` if nothing."""
    here: Any = typer.main.get_command(app)
    for word in shlex.split(command.replace("…", ""))[1:]:
        if word.startswith("-") and here.name == "bench":
            here = here.commands["run"]  # without a command, a template is run
        if word.startswith("-"):
            name = word.partition("=")[0]
            options = {text for each in here.params for text in (*each.opts, *each.secondary_opts)}
            if name not in (*options, "--help", "-") and not re.fullmatch(r"-v+", name):
                return f"{here.name} has no option {name}"
        elif word in getattr(here, "commands", ()):
            here = here.commands[word]
            here = here.load() if isinstance(here, LaterCommand) else here
        elif hasattr(here, "commands") and not word.isupper():
            return f"{here.name} has no command {word}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_and_options_exist(page: Path) -> None:
    assert {command: problem for command in shown(page) if (problem := problem_of(command))} == {}


def test_a_wrong_option_is_found() -> None:
    assert problem_of("schedframe explain nodes.yaml --pod web") == "explain has no option --pod"
    assert problem_of("schedframe schedul nodes.yaml") is not None
    assert problem_of("schedframe config check kube-scheduler.yaml") is None
