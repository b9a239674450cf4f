"""The one reader of text: manifests and configurations, YAML and JSON, have the same mistakes and lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from schedframe.api import load_manifests
from schedframe.api.documents import read_documents
from schedframe.config import ConfigDecodeError, load_config
from schedframe.errors import InputError

MANIFEST = "kind: Pod\nmetadata: {name: a}\nspec:\n  "
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- "


def refusal(read: Callable[[], Any]) -> tuple[str, list[str]]:
    """Return the places of what is wrong, and the whole text."""
    with pytest.raises((InputError, ConfigDecodeError)) as caught:
        read()
    return str(caught.value), [each.location.partition(":")[0] for each in caught.value.errors]


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ("x: 1\n  x: 2", "the key is there twice, first in line 4; remove one of the two"),
        ("? [x]\n  : 2", "a key is a list or an object; use plain words as keys"),
        ("? {x: y}\n  : '{{'", "a key is a list or an object; render the template first"),
        ("y: 1\n  x: !foo 1", "the tag !foo is not supported; remove the tag"),
        ("y: 1\n  x: !foo {}", "the tag !foo is not supported; remove the tag"),
        ("y: 1\n  x: !!set {a, b}", "the tag !!set is not supported; remove the tag"),
        ("y: 1\n  x: !!binary aaa", "the tag !!binary is not supported; remove the tag"),
        ("y: 1\n  x: -.INF", "there is no such number in JSON; write a finite one"),
        ("y: 1\n  x: 1e999", "there is no such number in JSON; write a finite one"),
        ("y: &y 1\n  <<: *y", "only objects can be merged with '<<'; merge the anchor of one"),
        ("y: 1\n  x: &x [*x]", "an alias contains itself; write the value out"),
        ("y: 1\n  x: !!int five", "cannot be read: 'five' is not a YAML int; correct it"),
        ("y: 1\n  x: " + "1" * 5000, "cannot be read: "),
        ("y: 1\n  x: \x07", "cannot be read as YAML: the character '\\x07' is not allowed; remove it"),
        ("y: 1\n  x: *nowhere", "cannot be read as YAML: found undefined alias *nowhere; put text"),
        ("y: 1\n\tx: 1", "cannot be read as YAML: a tab character"),
    ],
)
def test_manifests_and_configurations_have_the_same_mistakes_in_the_same_line(
    member: str, problem: str
) -> None:
    line = 4 if problem.startswith("a key") else 5
    for read, text in ((lambda text: list(load_manifests(text)), MANIFEST), (load_config, CONFIG)):
        said, places = refusal(lambda: read(text + member))  # noqa: B023 - called at once
        assert problem in said
        assert {place.partition(",")[0] for place in places} == {f"line {line}"}


@pytest.mark.parametrize(
    "member", ['"x": 1,\n "x": 2', '"y": 1,\n "x": [NaN]', '"y": 1,\n "x": {"z": -Infinity}']
)
def test_mistakes_in_json_have_their_lines(member: str) -> None:
    manifest = f'\n{{"kind": "Pod", "metadata": {{"name": "a"}}, {member}}}'
    config = f'\n{{"kind": "KubeSchedulerConfiguration", "apiVersion": "v1", {member}}}'
    assert refusal(lambda: list(load_manifests(manifest)))[1][0] == "line 3"
    assert refusal(lambda: load_config(config))[1] == ["line 3"]


def test_keys_are_text_as_in_json() -> None:
    (document,) = read_documents("{1: a, on: b, ~: c, 1.5: d, '2': e, 0x1F: f}", "")
    assert document.value == {"1": "a", "true": "b", "null": "c", "1.5": "d", "2": "e", "31": "f"}
    assert document.locate("true") == "line 1"


def test_members_of_merged_objects_have_the_line_of_their_anchor() -> None:
    (document,) = read_documents("a: &a\n  b: 1\nc: &c\n  d: 1\ne:\n  <<: [*a, *c]\n  f: 2\n", "f.yaml")
    assert [document.locate(f"e.{name}") for name in "bdf"] == ["f.yaml:2", "f.yaml:4", "f.yaml:7"]
    assert document.locate("e.none") == "f.yaml:5"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["a:\n  b: 1\n  c: [\n   2]\n", '{"a": {"b": 1,\n"c":\n  \n [2]}}'])
def test_lines_with_marks_and_any_line_breaks(text: str, line_break: str, mark: str) -> None:
    (document,) = read_documents(mark + text.replace("\n", line_break), "")
    assert document.value == {"a": {"b": 1, "c": [2]}}
    assert [document.locate(path) for path in ("a.c", "a.c[0]", "b")] == (
        ["line 3", "line 4", ""] if text.startswith("a") else ["line 2", "line 4", ""]
    )


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 1500 + "]" * 1500,
        '{"a":' * 1500 + "1" + "}" * 1500,
        "- " * 1500 + "a",
        "- " * 60_000,
        "-  " * 60_000,
        "? - " * 30_000,
        "".join(f"{' ' * level}a:\n" for level in range(1500)),
        "a: " + "[" * 6000,
    ],
)
def test_nesting_beyond_any_sense_is_refused(text: str, name: str) -> None:
    with pytest.raises(InputError, match="nest"):
        list(read_documents(text, name))


def test_aliases_are_read_once_however_many_there_are() -> None:
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    (document,) = read_documents("\n".join(lines), "")
    value = document.value["a59"]
    for _ in range(59):
        assert value[0] is value[1]
        value = value[0]
    assert value == ["x"]


def test_only_yaml_needs_pyyaml() -> None:
    node = json.dumps({"kind": "Node", "metadata": {"name": "a"}})
    code = (
        "import sys; from schedframe import load_manifests\n"
        f"list(load_manifests({node!r})); assert 'yaml' not in sys.modules\n"
        "list(load_manifests('kind: Node\\nmetadata: {name: a}')); assert 'yaml' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
