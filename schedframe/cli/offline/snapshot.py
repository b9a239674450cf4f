"""``schedframe snapshot``: what scheduling reads of a real cluster, as manifests for the other commands."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...api import DISRUPTION_TARGET, KINDS, ClusterObject, PodCondition, Volume
from ...api.manifest import to_manifest
from ...api.podstatus import POD_RESIZE_PENDING
from ...api.yaml_writer import to_yaml
from ...config import EffectiveConfig
from ...framework import Registry
from ...framework.declarations import declared, device_matches
from ...framework.factories import plugin_class_of
from ..configurations import configuration, write_text
from ..output.terminal import emit_document, note
from .anonymize import Anonymizer
from .device_kinds import DeviceKinds, Matches
from .live import LiveSource
from .snapshot_fields import KEPT, READ_KINDS, Sort, parts
from .snapshot_options import SnapshotOptions

ANNOTATIONS: Final = (
    "resource.kubernetes.io/pod-claim-name",
    "storageclass.beta.kubernetes.io/is-default-class",
    "storageclass.kubernetes.io/is-default-class",
)
"""Annotations that are kept besides those that plugins declare."""
CONDITIONS: Final = frozenset({DISRUPTION_TARGET, POD_RESIZE_PENDING})
"""Types of the conditions of pods that scheduling reads."""


def take_snapshot(options: SnapshotOptions) -> None:
    """Write the snapshot, and the configuration that goes with it. Raises ConfigError, InputError."""
    options.check()
    registry = Registry.installed(options.allow_import or ())
    config = configuration(options.config, registry)
    objects = LiveSource(options.kubeconfig or [], options.context).read("snapshot")
    anonymizer = Anonymizer(configuration=config.to_manifest()) if options.anonymize else None
    plugins = list(plugin_classes(config, registry))
    _write(snapshot_of(objects, plugins, options.keep_annotation or (), anonymizer), options.output)
    if anonymizer is not None and (path := options.config_output) is not None:
        write_text(path, f"{to_yaml(anonymizer.configuration(config.to_manifest()))}\n")
        note(f"the configuration with the same replacements is in {path}")


def snapshot_of(
    objects: Iterable[ClusterObject],
    plugins: Sequence[type],
    keep: Iterable[str] = (),
    anonymizer: Anonymizer | None = None,
) -> list[dict[str, Any]]:
    """Return the manifests of a snapshot of *objects* for *plugins*, with hidden names by an *anonymizer*.

    *keep*: keys of further annotations that are kept.
    """
    read = [obj for obj in objects if obj.KIND in READ_KINDS]
    manifests = kept(read, kept_annotations(plugins, keep))
    if anonymizer is None:
        return manifests
    return anonymizer.manifests(without_expressions(manifests, read, plugins))


def _write(manifests: Sequence[dict[str, Any]], output: str) -> None:
    text = as_list(manifests)
    if output == "-":
        emit_document(text)
    else:
        write_text(Path(output), text + "\n")
        note(f"{len(manifests)} objects are in {output}")


def plugin_classes(config: EffectiveConfig, registry: Registry) -> Iterator[type]:
    """Yield the classes of the plugins that the profiles of *config* enable; each once."""
    for name in dict.fromkeys(name for profile in config.profiles for name in profile.names):
        if name in registry and (cls := plugin_class_of(registry.factory(name))) is not None:
            yield cls


def kept_annotations(plugins: Iterable[type], named: Iterable[str]) -> frozenset[str]:
    """Return the keys of annotations that a snapshot keeps: of Kubernetes, of *plugins*, and *named* ones."""
    of_plugins = (key for cls in plugins for key in declared(cls, "reads_annotations"))
    return frozenset((*ANNOTATIONS, *of_plugins, *named))


def kept(objects: Iterable[ClusterObject], annotations: Collection[str]) -> list[dict[str, Any]]:
    """Return the manifests of *objects* with the fields that scheduling reads and nothing else."""
    return [_kept_manifest(to_manifest(obj), annotations) for obj in objects]


def _kept_manifest(manifest: dict[str, Any], annotations: Collection[str]) -> dict[str, Any]:
    kind = manifest["kind"]
    head = {"apiVersion": manifest["apiVersion"], "kind": kind}
    return {**head, **_kept(KINDS[kind], manifest, annotations)}


def _kept(cls: type, values: Mapping[str, Any], annotations: Collection[str]) -> dict[str, Any]:
    nested, found = parts(cls), {}
    for name, sort in KEPT[cls].items():
        value = values.get(name)
        if value is None:
            continue
        if sort is Sort.ANNOTATIONS:
            value = {key: text for key, text in value.items() if key in annotations}
            if not value:
                continue
        elif sort is Sort.POD_CONDITIONS:
            value = [
                _kept(PodCondition, each, annotations) for each in value if each.get("type") in CONDITIONS
            ]
            if not value:
                continue
        elif sort is Sort.PARTS and isinstance(value, list):
            value = [_kept(nested[name], each, annotations) for each in value]
            if nested[name] is Volume:
                # others are of no consequence for scheduling
                value = [each for each in value if len(each) > 1]
        elif sort is Sort.PARTS:
            value = _kept(nested[name], value, annotations)
        found[name] = value
    return found


def without_expressions(
    manifests: list[dict[str, Any]], objects: Sequence[ClusterObject], plugins: Iterable[type]
) -> list[dict[str, Any]]:
    """Return *manifests* with selectors of devices replaced by the devices that they select.

    A plugin class evaluates the selectors by its function ``device_matches``; otherwise nothing reads them.
    """
    matches: Matches | None = next(
        (found for cls in plugins if (found := device_matches(cls)) is not None), None
    )
    return manifests if matches is None else DeviceKinds(matches).hidden(manifests, objects)


def as_list(manifests: Iterable[dict[str, Any]]) -> str:
    """Return a List with one object a line, which is YAML too."""
    items = ",\n".join(json.dumps(each, separators=(",", ":")) for each in manifests)
    return f'{{"apiVersion":"v1","kind":"List","items":[\n{items}\n]}}'
