"""What examples/11-on-kubernetes applies, against the types that Kubernetes publishes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedframe.api import KINDS, NamespacedObject
from schedframe.api.validation import checks, problems_of
from schedframe.api.validation.published import published_types
from tests.examples.test_on_kubernetes import CHART, HERE, objects, rendered

DATA = Path(__file__).parent / "deployment_fields.json"


@pytest.fixture(autouse=True)
def types_of_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The types of ``docs/_tools/published_fields.py --deployment`` beside those that the package has."""
    known = {**published_types(), **json.loads(DATA.read_text())}
    monkeypatch.setattr(checks, "published_types", lambda: known)


def problems(manifest: dict[str, Any]) -> list[str]:
    """Return what a server with strict field validation would refuse."""
    kind, version = manifest["kind"], manifest["apiVersion"]
    cls: Any = KINDS.get(kind)
    if cls is None:
        cls = type(kind, (NamespacedObject,), {"KIND": kind, "API_VERSION": version})
    assert version == cls.API_VERSION
    group, _, number = version.rpartition("/")
    name = f"{group.split('.')[0] or 'core'}.{number}.{kind}"
    assert name in checks.published_types(), "otherwise only the metadata would be checked"
    return [str(each) for each in problems_of(manifest, cls, required=True)]


def applied() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of the example with the file that it is from."""
    for folder in (HERE, CHART / "templates"):
        for path in sorted(folder.glob("*.yaml")):
            text = path.read_text()
            if "kustomize.config" in text or "kubescheduler.config" in text or path.name == "alerts.yaml":
                continue
            for each in rendered(path) if folder != HERE else objects(path):
                yield f"{path.parent.name}/{path.name}", each


APPLIED = list(applied())


@pytest.mark.parametrize(("file", "manifest"), APPLIED, ids=[f"{f}-{m['kind']}" for f, m in APPLIED])
def test_a_strict_server_would_take_it(file: str, manifest: dict[str, Any]) -> None:
    assert problems(manifest) == []


def test_every_kind_is_there() -> None:
    kinds = {manifest["kind"] for _, manifest in APPLIED}
    roles = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"}
    assert kinds == {"Deployment", "PodDisruptionBudget", "NetworkPolicy", "ConfigMap", *roles}


@pytest.mark.parametrize(("file", "manifest"), APPLIED, ids=[f"{f}-{m['kind']}" for f, m in APPLIED])
def test_a_misspelt_field_is_noticed_everywhere(file: str, manifest: dict[str, Any]) -> None:
    """Of every object with fixed fields, at any depth, one field after the other is misspelt."""
    count = 0
    for path in list(paths_of_fields(manifest)):
        changed = json.loads(json.dumps(manifest))
        owner = changed
        for key in path[:-1]:
            owner = owner[key]
        owner[f"{path[-1]}x"] = owner.pop(path[-1])
        assert problems(changed), path
        count += 1
    assert count >= 2


FREE = {"labels", "matchLabels", "data", "requests"}
"""Objects with members of any name."""


def paths_of_fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from paths_of_fields(each, (*path, index))
    elif isinstance(value, dict) and (not path or path[-1] not in FREE):
        for key, each in value.items():
            if path or key not in ("apiVersion", "kind"):
                yield (*path, key)
            yield from paths_of_fields(each, (*path, key))


def test_the_lease_is_taken() -> None:
    pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")
    from schedframe.cluster.kubernetes.leader import LeaseName
    from schedframe.cluster.kubernetes.leader.lease import UNHELD

    record = UNHELD.claimed("one", 15.0, 1_700_000_000.0)
    for each in (record, record.claimed("two", 4.5, 1_700_000_009.5), record.released(1_700_000_010.0)):
        assert problems(each.to_manifest(LeaseName("kube-system", "python-scheduler"))) == []


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl, which has kustomize, is not on PATH")
def test_the_output_of_kustomize_is_taken() -> None:
    done = subprocess.run(["kubectl", "kustomize", str(HERE)], capture_output=True, text=True, check=True)
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert {each["kind"] for each in found} == {manifest["kind"] for _, manifest in APPLIED}
    for each in found:
        assert problems(each) == []
    (config,) = (each for each in found if each["kind"] == "ConfigMap")
    assert config["metadata"]["name"] == "python-scheduler", "without a hash: the pods mount it by name"
    assert config["data"]["config.yaml"] == (HERE / "config.yaml").read_text()


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not on PATH")
def test_helm_renders_what_the_test_renders() -> None:
    subprocess.run(["helm", "lint", "--strict", str(CHART)], check=True, capture_output=True)
    done = subprocess.run(["helm", "template", str(CHART)], capture_output=True, text=True, check=True)
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    own = [manifest for file, manifest in APPLIED if file.startswith("templates/")]

    def key(each: dict[str, Any]) -> str:
        return f"{each['kind']}"

    assert sorted(found, key=key) == sorted(own, key=key)
