"""Output that cannot be written, narrow terminals, progress, help, hints at faults."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

from schedframe.cli.app import app
from schedframe.cli.output import terminal
from schedframe.cli.output.standard_streams import READER_LEFT

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


def in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    command = line.replace("schedframe", f"{sys.executable} -m schedframe")
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(write: Write) -> None:
    file = write("cluster.yaml", text(node("a"), pod("p")))
    result = in_a_shell(f"schedframe schedule {file} > /dev/full")
    assert result.returncode == 2
    assert result.stderr.startswith("<stdout>: cannot be written: No space left on device; ")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["--version", "--help", "rbac", "config show", "run --version"])
def test_commands_without_input_report_a_full_disk_too(command: str) -> None:
    result = in_a_shell(f"schedframe {command} > /dev/full")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("<stdout>: cannot be written: No space left on device")


def without_a_reader(*arguments: str, streams: str, options: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command whose *streams*, ``out``, ``err`` or both, are a pipe that is not read."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, *options.split(), "-m", "schedframe", *arguments]
    try:
        return subprocess.run(
            command,
            stdout=writer if "out" in streams else subprocess.PIPE,
            stderr=writer if "err" in streams else subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes of POSIX")
@pytest.mark.parametrize("command", ["explain p FILE", "config show", "--version", "run --help"])
def test_a_reader_that_has_left_ends_a_command_quietly(write: Write, command: str) -> None:
    file = write("cluster.yaml", text(node("a"), pod("p")))
    arguments = [file if each == "FILE" else each for each in command.split()]
    result = without_a_reader(*arguments, streams="out")
    assert (result.returncode, result.stderr) == (READER_LEFT, "")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes of POSIX")
@pytest.mark.parametrize("options", ["", "-u"])
def test_it_is_the_same_with_both_streams_and_without_buffers(write: Write, options: str) -> None:
    file = write("cluster.yaml", text(node("a"), pod("p")))
    result = without_a_reader("schedule", file, streams="out err", options=options)
    assert result.returncode == READER_LEFT


@pytest.mark.skipif(os.name != "posix", reason="needs pipes of POSIX")
def test_messages_without_a_reader_change_no_answer(write: Write) -> None:
    file = write("cluster.yaml", text(node("a"), pod("p")))
    result = without_a_reader("schedule", file, streams="err")
    assert (result.returncode, "placed all" in result.stdout) == (0, True), result.stdout
    assert without_a_reader("schedule", f"{file}-not-there", streams="err").returncode == 2
    assert without_a_reader("schedule", "--nosuch", streams="err").returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="needs pipes of POSIX")
def test_the_beginning_of_a_long_answer() -> None:
    program = "from schedframe.cli.output import standard_streams as s; s.install(); print('x' * 1_000_000)"
    line = f'({sys.executable} -c "{program}"; echo $? >&2) | head -c 5'
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("xxxxx", f"{READER_LEFT}\n")


def test_an_encoding_without_the_letters_of_the_answer_is_one_line(write: Write) -> None:
    file = write("cluster.yaml", text(node("a"), pod("p", nodeSelector={"größe": "x"})))
    result = in_a_shell(f"PYTHONIOENCODING=ascii schedframe explain p {file} --validate ignore")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith("<stdout>: takes no '\\xf6': its encoding is ascii; ")


@pytest.mark.parametrize("command", ["schedule -", "config migrate -"])
def test_a_closed_stdin_is_one_line(command: str) -> None:
    result = in_a_shell(f"schedframe {command} <&-")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "<stdin>: is closed; redirect it from a file, or name a file\n"


def test_a_closed_stdout_is_one_line(write: Write) -> None:
    result = in_a_shell(f"schedframe schedule {write('cluster.yaml', text(node('a')))} >&-")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("<stdout>: is closed")


@pytest.mark.parametrize(
    ("command", "first"), [("--version", "schedframe "), ("--help", "Usage: schedframe ")]
)
def test_the_version_and_the_list_of_commands_need_none_of_the_large_packages(
    command: str, first: str
) -> None:
    code = (
        f"import sys; from schedframe.cli.main import run; run([{command!r}])\n"
        "print({'numpy', 'rich', 'schedframe.api'} & {*sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.startswith(first)
    assert result.stdout.endswith("\nset()\n")


def test_the_list_of_commands_says_what_their_own_help_says(cli: Cli) -> None:
    listed = cli("--help").out.split("Commands:\n")[1]
    for command in get_command(app).commands.values():  # type: ignore[attr-defined]  # a group
        assert command.name in listed
        assert cli(command.name, "--help").out.startswith(f"Usage: schedframe {command.name} ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_are_cut_at_the_width_of_a_terminal(
    cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("cluster.yaml", text(node("a"), pod("big", "64")))
    whole = cli("schedule", file).out
    assert max(map(len, whole.splitlines())) > 100
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 20)))
    lines = terminal.columns([("a", "x" * 100)], ("POD", "WHY NOT"), cut=True)
    assert (len(lines[1]), lines[1][-1]) == (60, "…")
    assert len(terminal.columns([("a", "x" * 100)], ("POD", "WHY NOT"))[1]) > 100


def test_progress_is_not_shown_for_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    with terminal.progress("reading", 3) as advance:
        advance()
    assert not sys.stderr.getvalue()  # type: ignore[attr-defined]  # it is a Terminal
    with terminal.progress("reading", 300) as advance:
        for _ in range(300):
            advance()
    assert "reading" in sys.stderr.getvalue()  # type: ignore[attr-defined]  # it is a Terminal


def test_the_list_of_commands_is_not_cut_off(cli: Cli) -> None:
    for words in ((), ("bench",), ("config",)):
        assert "..." not in cli(*words, "--help").out.partition("Commands:")[2]
    assert "pods" in cli("schedule", "--help").out.partition("Exit codes:")[2]
    assert "pods" not in cli("config", "check", "--help").out.partition("Exit codes:")[2]


BROKEN = """
from schedframe import hookimpl
class Broken:
    @hookimpl
    def filter(self, pod):
        raise RuntimeError("out of order")
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: "broken_plugin_aft:Broken"}]}}}]
"""


def test_a_plugin_that_fails_is_named_with_the_way_to_its_traceback(
    cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("broken_plugin_aft.py", BROKEN)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    file, config = write("cluster.yaml", text(node("a"), pod("p"))), write("config.yaml", CONFIG)
    options = ("--config", config, "--allow-import", "broken_plugin_aft")
    result = cli("schedule", file, *options)
    assert result.code == 5
    assert "note: plugins failed: broken_plugin_aft:Broken; -v shows the tracebacks" in result.err
    where = "RuntimeError: out of order (pod default/p, node a, broken_plugin_aft.py:6 in filter)"
    assert where in cli("schedule", file, *options, "-o", "wide").out
    verbose = cli("schedule", file, *options, "-v")
    assert "Traceback" in verbose.err
    assert "-v shows" not in verbose.err


def test_pods_that_fail_by_the_same_line_are_counted_together(
    cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("broken_plugin_alike.py", BROKEN)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    file = write("cluster.yaml", text(node("a"), pod("p"), pod("q")))
    config = write("config.yaml", CONFIG.replace("_aft", "_alike"))
    result = cli("schedule", file, "--config", config, "--allow-import", "broken_plugin_alike", "-o", "json")
    (reason,) = json.loads(result.out)["summary"]["pending_by_reason"]
    assert reason == {
        "reason": 'running "broken_plugin_alike:Broken" filter plugin: RuntimeError: out of order '
        "(broken_plugin_alike.py:6 in filter)",
        "pods": 2,
    }


@pytest.mark.parametrize(
    ("broken", "fix"),
    [
        ("metadata: !!python/object:os.system {name: a}", "remove the tag; only plain values are read"),
        ("kind: Pod\n\tmetadata: 5", "indent with spaces"),
        ("metadata: {name: a", "close the brace, or put text with special characters in quotes"),
        ("args: [a", "close the bracket, or put text with special characters in quotes"),
        ("a: *b", "put text that begins with * in quotes, or define the anchor"),
        ("a: b\n c: d", "check indentation and quotes"),
    ],
)
def test_unreadable_yaml_has_a_fix_of_its_own(cli: Cli, write: Write, broken: str, fix: str) -> None:
    result = cli("schedule", write("a.yaml", broken + "\n"))
    assert result.code == 2
    assert result.err.endswith(f"; {fix}\n")


def test_all_problems_of_all_files_are_written(cli: Cli, write: Write) -> None:
    one = write(
        "one.yaml", "kind: Pod\nmetadata: {name: a}\nspec: {nodeSelectr: {}}\n---\nkind: Node\nmetadata: {}"
    )
    two = write("two.yaml", text(pod("b"), pod("b"), pod("c") | {"spek": 5}))
    result = cli("schedule", one, two, "nowhere.yaml")
    assert result.code == 2
    assert [line.partition(": ")[0] for line in result.err.splitlines()] == [
        "one.yaml:3",
        "one.yaml:3",
        "one.yaml:6",
        "two.yaml:3",
        "nowhere.yaml",
        "two.yaml:2",
    ]
    assert not result.out


def test_a_file_that_holds_no_object_is_not_taken_for_the_name_of_one(cli: Cli, write: Write) -> None:
    assert "pathlib" not in cli("schedule", write("text.yaml", '"text"')).err
