"""Running command lines in this process."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from schedframe.cli.main import run


@frozen
class Result:
    """What one command line did."""

    code: int
    out: str
    err: str


class Stdin(io.StringIO):
    """Standard input, which has a name."""

    name = "<stdin>"


Cli = Callable[..., Result]
Files = Callable[..., list[str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """``cli("schedule", file, stdin="…")``."""

    def call(*arguments: str | Path, stdin: str = "") -> Result:
        monkeypatch.setattr("sys.stdin", Stdin(stdin))
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """``write("pods.yaml", text)`` puts a file into the working directory and gives its name back."""
    monkeypatch.chdir(tmp_path)

    def put(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return put
