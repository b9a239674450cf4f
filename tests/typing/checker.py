"""mypy --strict on sources that a user could have written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]
_ERROR = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<message>.*)")


def errors_in(sources: Mapping[str, str], folder: Path) -> list[tuple[str, int, str]]:
    """Return file, line and message of each error in *sources* (file → text), written to *folder*."""
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    options = ["--strict", "--no-error-summary", "--show-error-codes", "--python-version=3.11"]
    options += ["--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]
    options += [f"--cache-dir={ROOT / '.mypy_cache' / 'snippets'}"]
    files = [str(folder / name) for name in sources]
    out, problems, _ = api.run([*options, *files])
    assert not problems, problems
    found = []
    for line in out.splitlines():
        error = _ERROR.fullmatch(line)
        if error is not None:
            found.append((Path(error["file"]).name, int(error["line"]), error["message"]))
    return found


def expected_errors(source: str) -> list[tuple[int, str]]:
    """Return line and code of the errors that comments in *source* announce: ``# code``, after two spaces."""
    lines = enumerate(source.splitlines(), 1)
    return [(number, line.rpartition("  # ")[2]) for number, line in lines if "  # " in line]


def code_of(message: str) -> str:
    """Return the code of an error, which stands in brackets at its end."""
    return message.rpartition("[")[2].rstrip("]")
