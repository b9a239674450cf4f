"""Every example runs as its README says, and prints what stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import EXAMPLES, ROOT, documented, matches, shell

FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_commands_print_what_is_documented(folder: Path) -> None:
    for command, shown in documented(folder / "README.md"):
        done = shell(command, ROOT)
        assert matches(shown, done.stdout), f"$ {command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_example_is_in_the_list(folder: Path) -> None:
    assert f"({folder.name}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
