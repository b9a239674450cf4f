"""Names and texts of the input never act on a terminal and never forge a line, whatever they are made of."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import schedframe
from schedframe._base.visible import visible, visible_json, visible_yaml
from schedframe.api.yaml_writer import to_yaml
from schedframe.cli.main import run
from schedframe.cli.output.terminal import LineFormatter, traceback_lines
from schedframe.cli.run.logs import LogFormat, set_up
from tests.profiles import few

FORGED = "\nFORGED line"
RAW = (
    [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
    + [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)]
    + ["\u2028", "\u2029", "\u200b", "\ufeff", "\U000e0041"]
)
PIECES = [*RAW, "\x1b[31m", "\x1b]0;title\x07", "\r\n", FORGED, "[red]", "[/]", "é", "a", "\\"]
dirty = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join)

OWN_COLOURS = re.compile("\x1b\\[(0|1|32|33)m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def command(*arguments: str, terminal: bool = False) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one command line."""
    out, err = Terminal() if terminal else io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


def check_text(text: str) -> None:
    """Fail if *text* has anything that a terminal acts on, or a line that the input wrote."""
    for line in text.split("\n"):
        assert visible(line) == line
        assert not line.startswith("FORGED")


def world(dirt: Iterator[str]) -> list[dict[str, Any]]:
    """A cluster with dirt in every text that may come to an answer."""

    def d(base: str) -> str:
        return base + next(dirt)

    def node(name: str, **labels: str) -> dict[str, Any]:
        return {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": d("key"), "value": d("value"), "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "1", "memory": "1Gi", "pods": "3", d("resource"): "1"},
                "conditions": [{"type": d("type"), "status": d("s"), "reason": d("r"), "message": d("m")}],
                "images": [{"names": [d("image")], "sizeBytes": 5}],
            },
        }

    def pod(name: str, **spec: Any) -> dict[str, Any]:
        container = {"name": d("container"), "image": d("image"), "resources": {"requests": {"cpu": "1m"}}}
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": d(name), "namespace": d("space"), "annotations": {d("a"): d("b")}},
            "spec": {"containers": [container], **spec},
            "status": {"reason": d("reason"), "conditions": [{"type": d("t"), "message": d("m")}]},
        }

    requirement = {"key": d("key"), "operator": "In", "values": [d("value")]}
    term = {"topologyKey": d("topology"), "labelSelector": {"matchExpressions": [requirement]}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    node_term = {"matchExpressions": [requirement], "matchFields": [{**requirement, "key": d("field")}]}
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": d("claim")}}
    huge = {"name": "c", "resources": {"requests": {d("x.com/r"): "1", "cpu": "9"}}}
    labels = {d("l"): d("l")}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [huge]}}
    pods = [
        pod("placed"),
        pod("there", nodeName="ok"),
        pod("selects", nodeSelector={d("key"): d("value")}),
        pod("resource", containers=[huge]),
        pod("affinity", affinity={"nodeAffinity": {required: {"nodeSelectorTerms": [node_term]}}}),
        pod("near", affinity={"podAffinity": {required: [{**term, "namespaces": [d("space")]}]}}),
        pod("spread", topologySpreadConstraints=[spread]),
        pod("volume", volumes=[claim]),
        pod("claims", resourceClaims=[{"name": "r", "resourceClaimName": d("rc")}]),
        pod("gated", schedulingGates=[{"name": d("gate")}]),
        pod("other", schedulerName=d("scheduler")),
        pod("grouped", schedulingGroup={"podGroupName": d("group")}),
    ]
    deployment = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": d("deployment")}}
    deployment["spec"] = {"replicas": 1, "template": template, "selector": {"matchLabels": labels}}
    unknown = {"kind": d("Kind"), "apiVersion": d("example.com/v1"), "metadata": {"name": d("unknown")}}
    free = {**node("ok"), "spec": {}}
    return [node(d("node"), **{d("label"): d("value")}), free, *pods, deployment, unknown]


def stored(folder: str, name: str, manifests: list[dict[str, Any]]) -> str:
    file = Path(folder, name)
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": manifests}), encoding="utf-8")
    return str(file)


worlds = st.lists(dirty, min_size=20, max_size=120)
FILE_NAMES = "cluster\x1b[31m\u202e\nFORGED.json"


def repeated(texts: list[str]) -> Iterator[str]:
    while True:
        yield from texts


@given(worlds)
@few
def test_what_schedule_writes(texts: list[str]) -> None:
    manifests = world(repeated(texts))
    names = sorted(each["metadata"]["name"] for each in manifests[2:14] if "nodeName" not in each["spec"])
    with tempfile.TemporaryDirectory() as folder:
        file = stored(folder, FILE_NAMES, manifests)
        for options in (
            ["--validate", "strict"],
            ["--validate", "warn"],
            ["--validate", "ignore", "-o", "wide", "-v"],
            ["--validate", "ignore", "--explain"],
        ):
            _, out, err = command("schedule", file, *options)
            check_text(out)
            check_text(err)
        _, coloured, _ = command("schedule", "--validate", "ignore", file, terminal=True)
        check_text(OWN_COLOURS.sub("", coloured))
        for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
            _, out, _ = command("schedule", "--validate", "ignore", "-o", form, file)
            check_text(out)
            found = sorted(each["name"] for each in read(out)["pods"])
            assert [name for name in found if name in names] == names
        _, out, _ = command("schedule", "--validate", "ignore", "-o", "bindings", file)
        check_text(out)
        assert all(each["metadata"]["name"] in names for each in yaml.safe_load_all(out) if each)


@given(worlds, st.integers(0, 11))
@few
def test_what_explain_writes(texts: list[str], chosen: int) -> None:
    manifests = world(repeated(texts))
    pod = manifests[2 + chosen]["metadata"]
    key = f"{pod['namespace']}/{pod['name']}"
    with tempfile.TemporaryDirectory() as folder:
        file = stored(folder, FILE_NAMES, manifests)
        for form in ("text", "json", "yaml"):
            code, out, err = command("explain", key, "--validate", "ignore", "-o", form, file)
            assert code in (0, 1)
            check_text(out)
            check_text(err)
        assert yaml.safe_load(out)["pod"] == key
        _, _, err = command("explain", key + texts[0], "--validate", "ignore", file)
        check_text(err)


@given(st.lists(dirty, min_size=4, max_size=8))
@few
def test_what_commands_about_configurations_write(texts: list[str]) -> None:
    dirt = repeated(texts)
    profile = {
        "schedulerName": "s" + next(dirt),
        "plugins": {"multiPoint": {"disabled": [{"name": "D" + next(dirt)}]}},
    }
    bad = {**profile, "plugins": {"filter": {"enabled": [{"name": "E" + next(dirt)}]}}}
    head = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    extender = {"urlPrefix": "http://h/" + next(dirt), "filterVerb": next(dirt)}
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "P" + next(dirt)}]}
    unknown = {**head, "u" + next(dirt): 1}
    with tempfile.TemporaryDirectory() as folder:
        for data in (
            {**head, "profiles": [profile], "extenders": [extender]},
            {**head, "profiles": [bad]},
            policy,
            unknown,
        ):
            file = Path(folder, "c\u202e\nFORGED.yaml")
            file.write_text(json.dumps(data), encoding="utf-8")
            for words in (
                ["config", "check"],
                ["config", "show"],
                ["config", "migrate"],
                ["bench", "list"],
                ["rbac", "--config"],
            ):
                _, out, err = command(*words, str(file))
                check_text(out)
                check_text(err)
        for words in (["new-plugin", texts[0]], ["rbac", "--name", texts[0]], [f"--{texts[0]}"], [texts[0]]):
            _, out, err = command(*words)
            check_text(out)
            check_text(err)


@given(dirty, dirty)
def test_what_logs_write(text: str, other: str) -> None:
    stream = io.StringIO()
    try:
        try:
            raise ValueError(text)
        except ValueError as error:
            raise RuntimeError(other) from error
    except RuntimeError:
        failure = sys.exc_info()
    record = logging.makeLogRecord(
        {"msg": "met %s", "args": (text,), "levelname": "INFO", "exc_info": failure}
    )
    record.pod = other
    logger = logging.getLogger("schedframe")
    before = logger.handlers, logger.propagate, logger.level
    try:
        for form in LogFormat:
            with redirect_stderr(stream):
                set_up(form, 2)
            check_text(logger.handlers[0].format(record))
    finally:
        logger.handlers, logger.propagate = before[0], before[1]
        logger.setLevel(before[2])
    check_text(LineFormatter().format(record))
    assert traceback_lines(failure[1])[-1] == visible(f"RuntimeError: {other}") if failure[1] else False


def test_a_fault_of_its_own_is_written_in_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(options: Any) -> None:
        raise ValueError(f"no room for {FORGED}\x1b[31m")

    monkeypatch.setattr("schedframe.cli.offline.schedule.run_schedule", fail)
    code, _, err = command("schedule", stored(str(tmp_path), "a.json", []))
    check_text(err)
    assert code == 70
    assert "ValueError: no room for \\nFORGED line\\x1b[31m" in err.split("\n")


documents = st.recursive(
    dirty, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(dirty, inner, max_size=3), max_leaves=8
)


@given(documents)
def test_documents_read_back(data: Any) -> None:
    as_json = visible_json(json.dumps(data, indent=2, ensure_ascii=False))
    assert json.loads(as_json) == data
    for text in (as_json, to_yaml(data)):
        check_text(text)
    assert yaml.safe_load(to_yaml(data)) == data
    assert yaml.safe_load(visible_yaml(json.dumps(data, ensure_ascii=False))) == data


@given(worlds)
@few
def test_values_in_python_and_notebooks(texts: list[str]) -> None:
    manifests = [each for each in world(repeated(texts)) if each["kind"] in ("Node", "Pod")]
    simulation = schedframe.Simulation(manifests, strict=False)
    pod = simulation.pending()[1]
    evaluation = simulation.evaluate(pod)
    explanation = schedframe.explain(manifests, pod.key, strict=False)
    placements = simulation.schedule()
    for value in (evaluation, explanation, placements):
        check_text(str(value))
        check_text(value._repr_html_())
    console = Console(file=io.StringIO(), width=400)
    console.print(evaluation)
    console.print(placements)
    check_text(console.file.getvalue())


def test_markup_in_names_is_text() -> None:
    node = {"kind": "Node", "metadata": {"name": "[red]n[/red]"}, "status": {"allocatable": {"pods": "1"}}}
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    console = Console(file=io.StringIO(), width=200)
    console.print(schedframe.evaluate([node], pod, strict=False))
    assert "[red]n[/red]" in console.file.getvalue()
