from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schedframe.api import Node, Pod, UnknownKindError, load_manifests, parse_quantity
from schedframe.errors import InputError

TWO = """\
# a comment
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {released: 2026-01-31, hex: "0x10"}
  annotations: {at: 10:30}
  creationTimestamp: 2026-01-31T12:00:00Z
spec:
  containers:
  - name: c
    resources:
      requests: {cpu: 0.5, memory: 1e9, example.com/foo: 3}
---
---
kind: Node
metadata: {name: n1}
"""


def locations(source: Any, **options: Any) -> list[str]:
    return [f"{location} {made.KIND} {made.name}" for location, made in load_manifests(source, **options)]


def test_locations_have_the_line_and_the_document() -> None:
    assert locations(TWO) == ["line 2 Pod web", "line 16: document 3 Node n1"]


def test_scalars_are_read_as_kubectl_reads_them() -> None:
    (_, pod), *_ = load_manifests(TWO)
    assert isinstance(pod, Pod)
    assert pod.labels == {"released": "2026-01-31", "hex": "0x10"}
    assert pod.metadata.annotations == {"at": "10:30"}
    assert pod.metadata.creation_timestamp == 1769860800.0
    requests = pod.spec.containers[0].resources.requests
    assert requests == {
        "cpu": parse_quantity("500m"),
        "memory": parse_quantity("1G"),
        "example.com/foo": parse_quantity("3"),
    }


def test_text_that_only_looks_like_a_number_must_be_quoted() -> None:
    for text in ("on", "0777", "1.0", "0x1F", "5"):
        with pytest.raises(InputError, match="quotes"):
            list(load_manifests(f"kind: Pod\nmetadata: {{name: a, labels: {{version: {text}}}}}"))


def test_lists_count_as_their_items() -> None:
    listed = {
        "kind": "List",
        "apiVersion": "v1",
        "items": [{"kind": "Node", "metadata": {"name": "n1"}}, {"kind": "Pod", "metadata": {"name": "a"}}],
    }
    assert locations(json.dumps(listed)) == ["line 1: item 0 Node n1", "line 1: item 1 Pod a"]
    pods = {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}
    assert locations(json.dumps(pods)) == ["line 1: item 0 Pod a"]
    assert locations(json.dumps({"kind": "PodList", "items": None})) == []


def test_json_documents_may_follow_each_other() -> None:
    node = json.dumps({"kind": "Node", "metadata": {"name": "n1"}})
    assert locations(f"{node}\n{node}\n") == ["line 1 Node n1", "line 2: document 2 Node n1"]


def test_what_starts_like_json_may_be_yaml() -> None:
    assert locations("{kind: Node, metadata: {name: n1}}") == ["line 1 Node n1"]


def test_nothing_is_nothing() -> None:
    for text in ("", "\n", "# only a comment\n", "---\n"):
        assert locations(text) == []


def test_files_folders_and_streams(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("kind: Node\nmetadata: {name: n1}\n")
    (tmp_path / "a.json").write_text('{"kind": "Node", "metadata": {"name": "n2"}}')
    (tmp_path / "readme.txt").write_text("not read")
    assert locations(tmp_path) == [f"{tmp_path / 'a.json'}:1 Node n2", f"{tmp_path / 'b.yaml'}:1 Node n1"]
    assert locations(tmp_path / "b.yaml") == [f"{tmp_path / 'b.yaml'}:1 Node n1"]
    with (tmp_path / "b.yaml").open("rb") as stream:
        assert locations(stream) == [f"{tmp_path / 'b.yaml'}:1 Node n1"]
    assert locations(io.StringIO("kind: Node\nmetadata: {name: n1}")) == ["line 1 Node n1"]
    assert locations(b"kind: Node\nmetadata: {name: n1}") == ["line 1 Node n1"]


def test_errors_name_file_document_item_object_and_path(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(
        "kind: Node\n---\nkind: List\nitems:\n- kind: Pod\n- {kind: Pod, metadata: {name: web}, spec: 5}\n"
    )
    with pytest.raises(InputError) as caught:
        list(load_manifests(file))
    assert str(caught.value).startswith(
        f"{file}:6: document 2, item 1, Pod web: spec: expected an object, got 5"
    )


def test_text_that_is_no_yaml_names_line_and_column() -> None:
    with pytest.raises(InputError, match="line 2, column 4: cannot"):
        list(load_manifests("kind: Pod\n  a: b\n"))


@pytest.mark.parametrize("text", ["pods.yaml", "- kind: Pod", "5"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"pathlib\.Path"):
        list(load_manifests(text))


class TestUnknownKinds:
    TEXT = "kind: Node\nmetadata: {name: n1}\n---\nkind: ConfigMap\nmetadata: {name: c}\n"

    def test_they_are_an_error(self) -> None:
        with pytest.raises(UnknownKindError, match="ConfigMap") as caught:
            list(load_manifests(self.TEXT))
        assert (caught.value.path, caught.value.location) == ("kind", "line 4: document 2, ConfigMap c")

    def test_they_may_be_passed_over(self) -> None:
        assert locations(self.TEXT, on_unknown="skip") == ["line 1 Node n1"]

    def test_they_may_be_reported(self) -> None:
        seen: list[tuple[str, str]] = []

        def report(location: str, manifest: Mapping[str, Any]) -> None:
            seen.append((location, manifest["kind"]))

        assert locations(self.TEXT, on_unknown=report) == ["line 1 Node n1"]
        assert seen == [("line 4: document 2", "ConfigMap")]


def test_loading_is_lazy() -> None:
    first = next(iter(load_manifests("kind: Node\nmetadata: {name: n1}\n---\nkind: Pod\nspec: 5\n")))
    assert isinstance(first[1], Node)


def test_bytes_are_utf_8_with_or_without_a_mark() -> None:
    text = "kind: Node\nmetadata: {name: n1}"
    assert locations(text.encode("utf-8-sig")) == ["line 1 Node n1"]
    with pytest.raises(InputError, match="UTF-8"):
        list(load_manifests(text.encode("utf-16")))


def test_an_equals_sign_is_text() -> None:
    (_, node), *_ = load_manifests("kind: Node\nmetadata: {name: n1, annotations: {sign: =}}")
    assert node.metadata.annotations == {"sign": "="}


@pytest.mark.parametrize("key", ["knd", "kin", "Kind", "kinds"])
def test_a_misspelt_kind_is_reported_at_its_line(key: str) -> None:
    text = f"kind: Node\nmetadata: {{name: n1}}\n---\napiVersion: v1\n{key}: Pod\nmetadata: {{name: a}}\n"
    with pytest.raises(InputError, match=f"line 5: .*{key}: .* did you mean kind"):
        list(load_manifests(text))


def test_a_missing_kind_is_reported_at_its_object() -> None:
    with pytest.raises(InputError, match="line 1: a: kind: the kind is missing; write a kind such as Pod"):
        list(load_manifests("metadata: {name: a}\nspec: {}\n"))
