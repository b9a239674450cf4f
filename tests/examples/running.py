"""Running the examples as their READMEs say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests import warm

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

_COMMAND_AND_OUTPUT = re.compile(
    r"```(?P<language>\w+)\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL
)


def documented(readme: Path, language: str = "console") -> list[tuple[str, str]]:
    """Each ``$ command`` of a README's blocks in *language*, with the output that is shown below it."""
    found = _COMMAND_AND_OUTPUT.finditer(readme.read_text(encoding="utf-8"))
    return [(match["command"], match["output"]) for match in found if match["language"] == language]


def shell(command: str, folder: Path, *, started: bool = False) -> subprocess.CompletedProcess[str]:
    """Run *command* in *folder*; see :func:`tests.warm.environment`."""
    environment = warm.environment(started=started, NO_COLOR="1")
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def matches(shown: str, output: str) -> bool:
    """Whether *output* is what is *shown*, where a line ``...`` stands for any number of lines."""
    parts = (r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shown.splitlines())
    return re.fullmatch("".join(parts), output) is not None
