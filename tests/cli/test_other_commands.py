"""``schedframe plugins``, ``config``, ``bench``, ``--version``, and how the script behaves as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from schedframe import __version__
from schedframe.cli.bench_app import with_command
from schedframe.cli.output import terminal
from schedframe.cli.output.standard_streams import READER_LEFT

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


def test_plugins_say_where_they_come_from(cli: Cli) -> None:
    rows = {row["name"]: row for row in json.loads(cli("plugins", "--json").out)}
    assert rows["TaintToleration"] == {
        "name": "TaintToleration",
        "state": "delivered",
        "default": True,
        "weight": 3,
        "points": ["filter", "preScore", "score"],
        "source": f"schedframe {__version__}",
        "target": "plugins_builtin.taint_toleration:TaintToleration",
        "cached": True,
    }
    assert rows["SchedulingGates"]["cached"] is None
    assert rows["InterPodAffinity"]["cached"] is False
    assert "depend on the whole cluster" in rows["InterPodAffinity"]["not_cached"]
    assert "InterPodAffinity: it has no pod_signature" in cli("plugins").out
    assert rows["TopologyPlacementGenerator"]["default"] is False


def test_plugins_behind_feature_gates_are_installed_and_not_enabled(cli: Cli) -> None:
    lines = cli("plugins").out.splitlines()
    assert lines[0].split()[:4] == ["NAME", "STATE", "DEFAULT", "WEIGHT"]
    (gang,) = (line for line in lines if line.startswith("GangScheduling "))
    assert "catalogue only" not in gang
    assert gang.split()[2] != "yes"


def test_config_show_is_what_config_check_accepts(cli: Cli, write: Write) -> None:
    shown = cli("config", "show")
    assert shown.out.startswith(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    file = write("config.yaml", shown.out)
    checked = cli("config", "check", file)
    assert (checked.code, checked.out) == (0, "config.yaml: good; profiles: default-scheduler\n")
    assert cli("config", "show", file).out == shown.out


def test_config_check_accepts_extenders(cli: Cli, write: Write) -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    file = write("config.yaml", f"{text}extenders:\n- urlPrefix: http://127.0.0.1:1\n  filterVerb: filter\n")
    checked = cli("config", "check", file)
    assert (checked.code, checked.out) == (0, "config.yaml: good; profiles: default-scheduler\n")


def test_bench_prints_one_line_of_json(cli: Cli) -> None:
    result = cli("bench", "--nodes", "3", "--init", "2", "--pods", "5", "--json")
    (line,) = result.out.splitlines()
    assert json.loads(line)["scheduled"] == 5
    assert result.err == ""


def test_bench_shows_people_the_same_on_stderr(cli: Cli) -> None:
    result = cli("bench", "--template", "basic", "--nodes", "3", "--init", "0", "--pods", "5")
    (line,) = result.out.splitlines()
    assert [row.split()[0] for row in result.err.splitlines()] == list(json.loads(line))


def test_bench_refuses_what_it_does_not_know(cli: Cli) -> None:
    result = cli("bench", "--template", "quick")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("--template: there is no template quick; use one of basic, ")
    assert cli("bench", "--nodes", "-1").err == "--nodes: -1 is negative; give a number from 0\n"
    assert cli("bench", "--percentage", "101").code == 2
    assert "basic" in cli("bench", "list").out
    assert "No such command" in cli("bench", "quick").err


def test_bench_runs_workloads_of_a_file(cli: Cli, write: Write) -> None:
    file = write(
        "performance-config.yaml",
        """
- name: Tiny
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, count: 2, collectMetrics: true}
  workloads:
  - {name: small, labels: [short], params: {nodes: 1}}
  - {name: large, labels: [performance], params: {nodes: 2}}
""",
    )
    lines = cli("bench", "scheduler-perf", file, "--json").out.splitlines()
    assert [json.loads(line)["workload"] for line in lines] == ["Tiny/small", "Tiny/large"]
    (line,) = cli("bench", "scheduler-perf", file, "--label", "performance").out.splitlines()
    assert (json.loads(line)["nodes"], json.loads(line)["scheduled"]) == (2, 2)
    assert cli("bench", "list", file).out.split()[::2] == ["Tiny/small", "Tiny/large"]
    assert cli("bench", "scheduler-perf", file, "--name", "Huge").code == 2


def test_bench_compares_two_runs(cli: Cli, write: Write) -> None:
    first, second = write("a.json", '{"template": "basic", "p50_us": 50.0}'), write("b.json", "")
    assert "p50_us" in cli("bench", "compare", first, first).out
    (row,) = cli("bench", "compare", first, first, "--json").out.splitlines()
    assert json.loads(row)["change"] == 0
    assert cli("bench", "compare", first, second).code == 2


@pytest.mark.parametrize("words", [["run"], ["list", "--help"], ["--help"], ["unknown", "--list"]])
def test_commands_of_bench_stay_as_they_are(words: list[str]) -> None:
    assert with_command(words) == words
    assert with_command(["--nodes", "3"]) == ["run", "--nodes", "3"]
    assert with_command([]) == ["run"]


def test_help_documents_the_exit_codes(cli: Cli) -> None:
    placing, other = "1 some pods stay pending, 2 bad input or usage", "0 done, 2 bad input or usage"
    for arguments, codes in ((), placing), (("schedule",), placing), (("config", "check"), other):
        result = cli(*arguments, "--help")
        assert result.code == 0
        assert codes in " ".join(result.out.split())
    assert cli("--version").out == f"schedframe {__version__}\n"


def test_colours_are_for_terminals_that_want_them(
    cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("big", "64")))
    assert "\x1b[" not in cli("schedule", cluster).out
    monkeypatch.setattr(sys.stdout.__class__, "isatty", lambda self: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.heading("POD") != "POD"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.heading("POD") == "POD"


def test_a_missing_extra_is_one_line() -> None:
    code = "import sys; sys.modules['typer'] = None; from schedframe.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "schedframe: the command line needs typer: pip install 'schedframe[cli]'\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_in_the_middle_ends_the_process_quietly(
    write: Write, unbuffered: str
) -> None:
    cluster = write(
        "cluster.json", text(node("a"), *(pod(f"a-pod-with-a-long-name-{i}") for i in range(3000)))
    )
    with subprocess.Popen(
        [sys.executable, "-m", "schedframe", "schedule", cluster],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == READER_LEFT


def test_progress_is_shown_on_a_terminal_and_keeps_out_of_the_answer(
    cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = write("cluster.yaml", text(node("a"), *(pod(f"p{i}", "10m") for i in range(120))))
    plain = cli("schedule", cluster)
    assert "scheduling pods" not in plain.err
    monkeypatch.setattr(sys.stderr.__class__, "isatty", lambda self: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "500")  # stdout counts as a terminal too, and lines are cut at its width
    shown = cli("schedule", cluster)
    assert shown.out == plain.out
    assert "scheduling pods" in shown.err
