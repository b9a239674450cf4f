"""Bad input: one line on stderr that says where, what, and what to do; exit code 2; never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedframe._base.brief import shortened
from schedframe._base.visible import visible

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]

WRITER = """
from attrs import define
from schedframe import hookimpl

@define(eq=False)
class Writer:
    writes = ("patch Widget/status",)

    @hookimpl
    def filter(self, pod, node_info):
        return None
"""


def refused(cli: Cli, *arguments: str | Path, stdin: str = "") -> str:
    """The last line on stderr of a command line that must be refused."""
    result = cli(*arguments, stdin=stdin)
    assert result.code == 2
    assert result.out == ""
    assert "Traceback" not in result.err
    return result.err.splitlines()[-1]


def test_a_field_of_a_wrong_type(cli: Cli, write: Write) -> None:
    bad = pod("web")
    bad["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much"
    line = refused(cli, "schedule", write("cluster.yaml", text(node("a"), bad)))
    assert line.startswith("cluster.yaml:2: document 2, Pod web: spec.containers[0].resources.requests.cpu: ")
    assert "much" in line


def test_an_item_of_a_list_on_stdin(cli: Cli) -> None:
    manifest = '{"kind": "NodeList", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": 7}}]}'
    line = refused(cli, "schedule", "-", stdin=manifest)
    assert (
        line
        == '<stdin>:1: item 1, Node: metadata.name: expected text, got 7 (a number); put it in quotes: "7"'
    )


def test_malformed_yaml(cli: Cli, write: Write) -> None:
    line = refused(cli, "schedule", write("cluster.yaml", "kind: Node\nmetadata: {name: a\nspec: {}\n"))
    assert line.startswith("cluster.yaml:3:5: cannot be read as YAML: ")


def test_malformed_json(cli: Cli, write: Write) -> None:
    line = refused(cli, "schedule", write("cluster.json", '{"kind": "Node",\n "metadata": {"name": "a"'))
    assert line.startswith("cluster.json:2:26: cannot be read as JSON: Expecting ',' delimiter; ")


@pytest.mark.parametrize("name", ["cluster.json", "cluster.yaml"])
@pytest.mark.parametrize("text", ["[" * 10_000, "- " * 60_000, "{a: " + "[" * 40_000, "[" * 100_000])
def test_deep_nesting_is_refused(cli: Cli, write: Write, name: str, text: str) -> None:
    """libyaml's composer would end the process with a segmentation fault."""
    file = write(name, text)
    for command in (["schedule"], ["config", "check"], ["bench", "scheduler-perf"]):
        assert refused(cli, *command, file).startswith(f"{name}:")


@pytest.mark.parametrize(
    "form", ['{"kind": "Pod", "spec": {"priority": %s}}', "kind: Pod\nspec: {priority: %s}"]
)
def test_integers_with_thousands_of_digits_are_refused(cli: Cli, write: Write, form: str) -> None:
    file = write("pod.yaml", form % ("9" * 5000))
    for command in (["schedule"], ["config", "check"], ["bench", "scheduler-perf"]):
        assert "4300 digits" in refused(cli, *command, file)


def test_the_same_name_twice(cli: Cli, write: Write) -> None:
    one, two = write("one.yaml", text(node("a"), pod("web"))), write("two.yaml", text(pod("web")))
    line = refused(cli, "schedule", one, two)
    assert line == (
        "two.yaml:1: metadata.name: Pod default/web is there already, from one.yaml:2: document 2; "
        "rename or remove one of the two"
    )


def test_the_same_uid_twice(cli: Cli, write: Write) -> None:
    """A manifest of `kubectl get -o yaml` that was copied and renamed."""
    web, copy = ({**each, "metadata": {**each["metadata"], "uid": "u"}} for each in (pod("web"), pod("copy")))
    one, two = write("one.yaml", text(node("a"), web)), write("two.yaml", text(copy))
    for arguments in (["schedule"], ["explain", "web"]):
        assert refused(cli, *arguments, one, two) == (
            "two.yaml:1: metadata.uid: uid u of Pod default/copy is that of Pod default/web, "
            "from one.yaml:2: document 2; remove metadata.uid from one of them"
        )
    assert cli("schedule", one, write("two.yaml", text(pod("copy")))).code == 0


@pytest.mark.parametrize("empty", [["schedule", ""], ["schedule", "a.yaml", ""], ["explain", "a", ""]])
def test_an_empty_text_is_no_file(cli: Cli, write: Write, empty: list[str]) -> None:
    """As of an unset variable: it was the working directory with all its manifests."""
    write("a.yaml", text(node("a")))
    assert "an empty text names no FILE" in " ".join(cli(*empty).err.split())


@pytest.mark.parametrize("name", ["", "n" * 5000, "/no/such\0/file"])
def test_explaining_a_pod_whose_name_is_none(cli: Cli, write: Write, name: str) -> None:
    file = write("cluster.yaml", text(node("a"), pod("web")))
    line = refused(cli, "schedule", "--explain", name, file)
    problem = shortened(f"no pod is named {visible(name)}", 2000)  # as each part of a message
    assert line.startswith(f"--explain: {problem};")


@pytest.mark.parametrize("words", [["-v", "²"], ["--v", "²"], ["--v=²"]])
def test_a_verbosity_that_is_no_number(cli: Cli, words: list[str]) -> None:
    result = cli("run", *words)
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_an_extender_on_a_port_that_cannot_be(cli: Cli, write: Write, port: str) -> None:
    result = cli("extender", "--config", write("config.yaml", "{}"), "--port", port)
    assert result.code == 2
    assert "Invalid value for '--port'" in result.err


@pytest.mark.parametrize(
    ("option", "value"), [("--name", "Ü x"), ("--name", ""), ("--namespace", ""), ("--namespace", "a.b")]
)
def test_names_of_rbac_that_no_api_server_takes(cli: Cli, option: str, value: str) -> None:
    line = refused(cli, "rbac", option, value)
    assert line.startswith(f"{option}: {value!r} is not a name that Kubernetes takes; ")


def test_a_right_about_a_kind_that_nobody_declares(
    cli: Cli, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write("writer_of_widgets.py", WRITER)
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "writer_of_widgets:Writer"}]}}}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = write("config.yaml", json.dumps({**kind, "profiles": [profile]}))
    line = refused(cli, "rbac", "--config", config, "--allow-import", "writer_of_widgets")
    assert "Writer: writes has 'patch Widget/status', and Widget is no known kind; " in line


def test_workloads_of_a_file_without_any(cli: Cli, write: Write) -> None:
    assert refused(cli, "bench", "list", write("w.yaml", "[]")).startswith("workloads: the file has none; ")


def test_no_name_at_all(cli: Cli, write: Write) -> None:
    line = refused(cli, "schedule", write("cluster.yaml", text({"kind": "Node"})))
    assert line == "cluster.yaml:1: Node: metadata.name: a Node has no name; give it one, or a generateName"


def test_a_priority_class_that_is_not_there(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("pods.yaml", text(pod("web", priorityClassName="high"))))
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith(
        "pods.yaml:1: Pod web: spec.priorityClassName: Priority refuses it: there is no PriorityClass high; "
    )


def test_a_file_that_is_not_there_or_no_text(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("x", "")
    assert refused(cli, "schedule", "nowhere.yaml").startswith("nowhere.yaml: cannot be read: No such file")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert refused(cli, "schedule", "binary.yaml").startswith("binary.yaml: is not UTF-8")


def test_no_file_and_no_such_form(cli: Cli, write: Write) -> None:
    assert "name at least one file" in refused(cli, "schedule")
    assert "bindings" in refused(cli, "schedule", write("c.yaml", ""), "-o", "xml")
    assert "No such command" in refused(cli, "place")


def test_a_configuration_with_errors(cli: Cli, write: Write) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config = write("config.yaml", f"{head}podInitialBackoffSeconds: -1\nparallelism: -2\n")
    result = cli("schedule", "--config", config, write("cluster.yaml", text(node("a"))))
    assert result.code == 2
    assert [line.split(": ")[:2] for line in result.err.splitlines()] == [
        ["config.yaml:4", "parallelism"],
        ["config.yaml:3", "podInitialBackoffSeconds"],
    ]
    assert cli("config", "check", config).err == result.err


def test_a_configuration_that_is_not_there(cli: Cli, write: Write) -> None:
    write("x", "")
    for command in (["config", "check"], ["config", "show"]):
        assert refused(cli, *command, "nowhere.yaml").startswith("nowhere.yaml: cannot be read")


def test_a_file_that_cannot_be_written(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a")))
    line = refused(cli, "schedule", cluster, "--write-config-to", "no/folder.yaml")
    assert line.startswith("no/folder.yaml: cannot be written: ")


def test_unknown_kinds_are_skipped_with_one_note(cli: Cli, write: Write) -> None:
    others = [
        {"kind": "Secret"},
        {"kind": "Ingress", "apiVersion": "networking.k8s.io/v1"},
        {"kind": "Secret"},
    ]
    result = cli("schedule", write("cluster.yaml", text(node("a"), *others, pod("web"))))
    assert result.code == 0
    notes = [line for line in result.err.splitlines() if "skipped" in line]
    assert notes == ["note: skipped, as scheduling does not read these kinds: Ingress (1), Secret (2)"]


def test_a_fault_of_our_own_is_not_the_inputs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    def fail(request: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("schedframe.cli.offline.schedule.run_schedule", fail)
    result = cli("schedule", write("cluster.yaml", ""))
    assert result.code == 70
    assert "RuntimeError: broken" in result.err
    assert result.err.endswith("this is a fault of schedframe, not of the input; please report it\n")


def test_interruption_has_a_code_of_its_own(cli: Cli, monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    def interrupt(request: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("schedframe.cli.offline.schedule.run_schedule", interrupt)
    result = cli("schedule", write("cluster.yaml", ""))
    assert (result.code, result.err) == (130, "interrupted\n")
