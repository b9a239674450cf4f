"""KubeSchedulerConfiguration of v1alpha1 to v1beta3: renamed fields and plugins, other default weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import define, field

from ..model import ATTRIBUTES
from .migration import Migration, Note, document, note_of
from .names import FIT, LIMITS, RENAMED_PLUGINS, STRATEGIES, TAINTS

GROUP: Final = "kubescheduler.config.k8s.io"
VERSIONS: Final = tuple(
    f"{GROUP}/{version}" for version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")
)
_WITH_OLD_WEIGHTS: Final = VERSIONS[:4]
OLD_WEIGHTS: Final = {"NodeAffinity": 1, "InterPodAffinity": 1, TAINTS: 1}
"""Default weights up to v1beta2 that are others now."""
_GONE: Final = {
    "healthzBindAddress": "a flag of schedframe run now",
    "metricsBindAddress": "a flag of schedframe run now",
    "bindTimeoutSeconds": "bindTimeoutSeconds of VolumeBinding",
    "algorithmSource": "profiles",
    "disablePreemption": "postFilter without DefaultPreemption",
    "hardPodAffinitySymmetricWeight": "hardPodAffinityWeight of InterPodAffinity",
    "schedulerName": "schedulerName of the profile",
    "plugins": "plugins of the profile",
    "pluginConfig": "pluginConfig of the profile",
}
_RENAMED_LOCK: Final = {"lockObjectName": "resourceName", "lockObjectNamespace": "resourceNamespace"}
_OLD_POINTS: Final = ("unreserve",)
PROVIDERS: Final = ("DefaultProvider", "ClusterAutoscalerProvider")


@define
class ComponentMigration:
    """Collects notes while an older configuration is read."""

    old: Mapping[str, Any]
    _notes: list[Note] = field(factory=list)

    def migrate(self) -> Migration:
        """Return the configuration of today."""
        old, version = self.old, str(self.old.get("apiVersion"))
        self._notes.append(Note("apiVersion", f"{version} → {GROUP}/v1"))
        kept = {
            k: v for k, v in old.items() if k not in _GONE and k not in ("apiVersion", "kind", "profiles")
        }
        self._notes += [Note(name, text) for name, text in _GONE.items() if name in old]
        if "leaderElection" in kept:
            kept["leaderElection"] = _renamed(kept["leaderElection"], _RENAMED_LOCK)
        profiles = [dict(each) for each in old.get("profiles") or ()] or [self._single_profile()]
        migrated = [self._profile(f"profiles[{i}]", each, version) for i, each in enumerate(profiles)]
        config = document(**kept, profiles=migrated)
        return Migration(f"KubeSchedulerConfiguration {version}", config, tuple(self._notes))

    def _single_profile(self) -> dict[str, Any]:
        """Return the profile that fields outside of profiles describe, as in v1alpha1."""
        old = self.old
        names = ("schedulerName", "plugins", "pluginConfig")
        profile = {name: old[name] for name in names if old.get(name)}
        config = list(profile.get("pluginConfig") or ())
        weight, timeout = old.get("hardPodAffinitySymmetricWeight"), old.get("bindTimeoutSeconds")
        if weight is not None:
            config.append({"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": weight}})
        if timeout is not None:
            config.append({"name": "VolumeBinding", "args": {"bindTimeoutSeconds": timeout}})
        source = old.get("algorithmSource") or {}
        if source.get("provider") == PROVIDERS[1]:
            config.append(most_allocated())
        if source.get("policy"):
            text = "migrate the policy itself: its file, or the ConfigMap's entry policy.cfg"
            self._notes.append(Note("algorithmSource.policy", text, kept=False))
        if config:
            profile["pluginConfig"] = config
        if old.get("disablePreemption"):
            plugins = profile["plugins"] = dict(profile.get("plugins") or {})
            plugins["postFilter"] = {"disabled": [{"name": "*"}]}
        return profile

    # ---- profiles ----------------------------------------------------------------------------------------

    def _profile(self, where: str, profile: dict[str, Any], version: str) -> dict[str, Any]:
        points: dict[str, dict[str, Any]] = {}
        strategies: list[str] = []
        for point, given in (profile.get("plugins") or {}).items():
            if point in _OLD_POINTS or point not in ATTRIBUTES:
                self._notes.append(Note(f"{where}.plugins.{point}", "no such point any more", kept=False))
                continue
            points[point] = {
                key: self._plugins(f"{where}.plugins.{point}.{key}", given.get(key) or (), strategies)
                for key in ("enabled", "disabled")
                if given.get(key)
            }
        if version in _WITH_OLD_WEIGHTS:
            self._keep_weights(where, points)
        config = [
            self._plugin_config(f"{where}.pluginConfig[{i}]", each)
            for i, each in enumerate(profile.get("pluginConfig") or ())
        ]
        migrated = {**profile, "plugins": points, "pluginConfig": _merged(config, strategies)}
        return {name: value for name, value in migrated.items() if value not in ({}, [], None)}

    def _plugins(
        self, where: str, given: Iterable[Mapping[str, Any]], strategies: list[str]
    ) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for i, plugin in enumerate(given):
            name = str(plugin.get("name"))
            successor = RENAMED_PLUGINS.get(name)
            names = (name,) if successor is None else successor.plugins
            if successor is not None:
                self._notes.append(note_of(f"{where}[{i}]", name, successor))
            if name in STRATEGIES and where.endswith("enabled"):
                strategies.append(STRATEGIES[name])
            for each in names:
                found.setdefault(each, {**plugin, "name": each})
        return list(found.values())

    def _keep_weights(self, where: str, points: dict[str, dict[str, Any]]) -> None:
        """Enable the score plugins whose default weight has changed with the weight of that time."""
        score = points.setdefault("score", {})
        named = {each["name"] for key in ("enabled", "disabled") for each in score.get(key, ())}
        weights = {name: weight for name, weight in OLD_WEIGHTS.items() if name not in named}
        if "*" in named or not weights:
            if not score:
                del points["score"]
            return
        enabled = [{"name": name, "weight": weight} for name, weight in weights.items()]
        score["enabled"] = [*score.get("enabled", ()), *enabled]
        text = f"the weights of that version: {', '.join(f'{n} {w}' for n, w in weights.items())}"
        self._notes.append(Note(f"{where}.plugins.score", text))

    def _plugin_config(self, where: str, given: Mapping[str, Any]) -> dict[str, Any]:
        name = str(given.get("name"))
        old_args = {k: v for k, v in (given.get("args") or {}).items() if k not in ("apiVersion", "kind")}
        successor = RENAMED_PLUGINS.get(name)
        if successor is None:
            return {"name": name, "args": old_args}
        self._notes.append(note_of(where, f"arguments of {name}", successor))
        if name not in STRATEGIES:
            return {"name": successor.plugins[0] if successor.plugins else "", "args": {}}
        strategy: dict[str, Any] = {"type": STRATEGIES[name]}
        if old_args.get("resources"):
            strategy["resources"] = old_args["resources"]
        if old_args.get("shape"):
            strategy["requestedToCapacityRatio"] = {"shape": old_args["shape"]}
        return {"name": FIT, "args": {"scoringStrategy": strategy}}


def most_allocated() -> dict[str, Any]:
    """Return what the provider ClusterAutoscalerProvider changes: nodes that are full come first."""
    return {"name": FIT, "args": {"scoringStrategy": {"type": "MostAllocated"}}}


def provider(name: str) -> Migration:
    """Return the configuration of an algorithm provider; ``ValueError`` for an unknown name."""
    if name not in PROVIDERS:
        raise ValueError(f"there is no algorithm provider {name!r}; there were {' and '.join(PROVIDERS)}")
    profile: dict[str, Any] = {}
    if name == PROVIDERS[1]:
        profile["pluginConfig"] = [most_allocated()]
    notes: list[Note] = [Note("provider", f"{name} → the default plugins")]
    points: dict[str, dict[str, Any]] = {}
    ComponentMigration({}, notes)._keep_weights("profiles[0]", points)
    profile["plugins"] = points
    return Migration(f"AlgorithmProvider {name}", document(profiles=[profile]), tuple(notes))


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in given.items()}


def _merged(config: Iterable[dict[str, Any]], strategies: Iterable[str]) -> list[dict[str, Any]]:
    """Return one entry for each plugin; *strategies*: scoring strategies of plugins that were enabled."""
    merged: dict[str, dict[str, Any]] = {}
    for each in config:
        if each["name"] and (each["args"] or each["name"] != LIMITS):
            merged.setdefault(each["name"], {}).update(each["args"])
    for strategy in strategies:
        merged.setdefault(FIT, {}).setdefault("scoringStrategy", {"type": strategy})
    return [{"name": name, "args": args} for name, args in merged.items()]
