"""KubeSchedulerConfiguration of v1alpha1 to v1beta3: renamed fields and plugins, other default plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from schedframe.config.errors import ConfigDecodeError, FieldError
from schedframe.config.model import ALL, ATTRIBUTES
from schedframe.config.source import read

from .extenders import extender
from .migration import Migration, Note, document, note_of
from .names import (
    AVOID_PODS,
    AVOID_PODS_WEIGHT,
    FIT,
    LEAST_ALLOCATED,
    PLUGINS,
    POD_AFFINITY,
    SELECTOR_SPREAD,
    SPREAD,
    STRATEGY_TYPES,
    TAINTS,
)
from .policy import PolicyMigration, strategy
from .shapes import check_policy

GROUP: Final = "kubescheduler.config.k8s.io"
VERSIONS: Final = tuple(
    f"{GROUP}/{version}" for version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")
)
_WITH_LEAST_ALLOCATED: Final = VERSIONS[:3]
"""Versions in which NodeResourcesLeastAllocated scored by default, and NodePreferAvoidPods."""
_WITH_SELECTOR_SPREAD: Final = VERSIONS[:2]
"""Versions in which SelectorSpread scored by default, in place of default constraints."""
_WITH_OLD_WEIGHTS: Final = VERSIONS[:4]
OLD_WEIGHTS: Final = {"NodeAffinity": 1, POD_AFFINITY: 1, TAINTS: 1}
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
_LEASES: Final = "leases"
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
            kept["leaderElection"] = self._leader_election(kept["leaderElection"])
        if isinstance(kept.get("extenders"), list):
            kept["extenders"] = [self._extender(i, each) for i, each in enumerate(kept["extenders"])]
        policy = self._policy()
        if policy is not None:
            kept["extenders"] = policy.config.get("extenders")
            migrated = [self._profile_of(policy)]
        else:
            profiles = [dict(each) for each in old.get("profiles") or ()] or [self._single_profile()]
            migrated = [
                _ProfileMigration(f"profiles[{i}]", version, self._notes).migrate(each)
                for i, each in enumerate(profiles)
            ]
        config = document(**kept, profiles=migrated)
        return Migration.of(f"KubeSchedulerConfiguration {version}", config, self._notes)

    def _extender(self, index: int, given: Any) -> Any:
        """Return an extender with its fields in the spelling of today: early versions took any case."""
        if not isinstance(given, Mapping):
            return given
        renamed = extender(given)
        if renamed != given:
            self._notes.append(Note(f"extenders[{index}]", "fields in the spelling of today"))
        return renamed

    def _leader_election(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        election = {_RENAMED_LOCK.get(key, key): value for key, value in (given or {}).items()}
        lock = election.get("resourceLock")
        if lock and lock != _LEASES:
            election["resourceLock"] = _LEASES
            text = f"{lock} → {_LEASES}; replicas that still use the other lock do not see this one"
            self._notes.append(Note("leaderElection.resourceLock", text, kept=_LEASES in lock))
        return election

    def _policy(self) -> Migration | None:
        """Return what the policy of ``algorithmSource`` becomes; ``None`` without one in a file that is here.

        Raises ConfigDecodeError for a policy with mistakes.
        """
        policy = (self.old.get("algorithmSource") or {}).get("policy")
        if not policy:
            return None
        path = (policy.get("file") or {}).get("path")
        if not path or not Path(path).is_file():
            where = path or "the ConfigMap with the entry policy.cfg"
            text = f"migrate the policy itself, which is not here: {where}"
            self._notes.append(Note("algorithmSource.policy", text, kept=False))
            return None
        data = read(Path(path)).value
        if not isinstance(data, Mapping):
            raise ConfigDecodeError([FieldError.wrong_type(path, data, "a policy")])
        check_policy(data)
        migration = PolicyMigration(data).migrate()
        self._notes.append(Note("algorithmSource.policy", f"that of {path}"))
        self._notes += [note for note in migration.notes if note.field != "profiles"]
        return migration

    def _profile_of(self, policy: Migration) -> dict[str, Any]:
        """Return the profile of *policy* with the fields that older versions had besides it."""
        (profile,) = policy.config["profiles"]
        config = {each["name"]: each["args"] for each in profile.get("pluginConfig", ())}
        for each in self._arguments():
            config.setdefault(each["name"], each["args"])
        profile["pluginConfig"] = [{"name": name, "args": args} for name, args in config.items()]
        if self.old.get("schedulerName"):
            profile["schedulerName"] = self.old["schedulerName"]
        if self.old.get("disablePreemption"):
            del profile["plugins"]["postFilter"]
        return dict(profile)

    def _arguments(self) -> list[dict[str, Any]]:
        """Return the arguments of plugins that were fields of their own."""
        weight, timeout = self.old.get("hardPodAffinitySymmetricWeight"), self.old.get("bindTimeoutSeconds")
        given = {
            POD_AFFINITY: {} if weight is None else {"hardPodAffinityWeight": weight},
            "VolumeBinding": {} if timeout is None else {"bindTimeoutSeconds": timeout},
        }
        return [{"name": name, "args": args} for name, args in given.items() if args]

    def _single_profile(self) -> dict[str, Any]:
        """Return the profile that fields outside of profiles describe, as in v1alpha1."""
        old = self.old
        names = ("schedulerName", "plugins", "pluginConfig")
        profile = {name: old[name] for name in names if old.get(name)}
        config = [*(profile.get("pluginConfig") or ()), *self._arguments()]
        if (old.get("algorithmSource") or {}).get("provider") == PROVIDERS[1]:
            profile["plugins"] = _with_most_allocated(profile.get("plugins") or {})
        if config:
            profile["pluginConfig"] = config
        if old.get("disablePreemption"):
            plugins = profile["plugins"] = dict(profile.get("plugins") or {})
            plugins["postFilter"] = {"disabled": [{"name": ALL}]}
        return profile


@define
class _ProfileMigration:
    """Migrates one profile."""

    where: str
    version: str
    _notes: list[Note]
    _of_fit: str = ""
    """The plugin whose score is the scoring strategy of NodeResourcesFit."""

    def migrate(self, profile: dict[str, Any]) -> dict[str, Any]:
        """Return the profile of today."""
        plugins = profile.get("plugins") or {}
        self._of_fit = self._strategy_of_fit(plugins.get("score") or {})
        points: dict[str, dict[str, Any]] = {}
        for point, given in plugins.items():
            if point in _OLD_POINTS or point not in ATTRIBUTES:
                where = f"{self.where}.plugins.{point}"
                self._notes.append(Note(where, "no such point any more", kept=False))
                continue
            points[point] = self._point(point, given or {})
        self._keep_defaults(points, plugins.get("score") or {})
        config = self._plugin_config(profile.get("pluginConfig") or ())
        migrated = {**profile, "plugins": points, "pluginConfig": config}
        return {name: value for name, value in migrated.items() if value not in ({}, [], None)}

    def _strategy_of_fit(self, score: Mapping[str, Any]) -> str:
        """Return the plugin that NodeResourcesFit scores for: the one by default, else the first enabled one.

        The others are plugins of their own.
        """
        enabled = [each for each in _names(score, "enabled") if each in STRATEGY_TYPES]
        default = LEAST_ALLOCATED if self.version in _WITH_LEAST_ALLOCATED else FIT
        disabled = _names(score, "disabled")
        if default in disabled or ALL in disabled:
            return next(iter(enabled), "")
        return LEAST_ALLOCATED if default == LEAST_ALLOCATED else ""

    def _name(self, name: str) -> str:
        """Return the name today of a plugin of the older version."""
        if name in STRATEGY_TYPES:
            return FIT if name == self._of_fit else name
        successor = PLUGINS.get(name)
        return name if successor is None else successor.plugins[0]

    def _point(self, point: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lists of one extension point, with a note on each name that v1 does not have."""
        lists: dict[str, Any] = {}
        for key in ("enabled", "disabled"):
            migrated: dict[str, dict[str, Any]] = {}
            for i, plugin in enumerate(given.get(key) or ()):
                old = str(plugin.get("name"))
                name = self._name(old)
                if key == "disabled" and old in PLUGINS:
                    if old != LEAST_ALLOCATED or point != "score":
                        continue  # no default enables it any more
                    name = FIT
                if name != old:
                    text = f"{old} → {PLUGINS[old] if name in PLUGINS[old].plugins else name}"
                    self._notes.append(Note(f"{self.where}.plugins.{point}.{key}[{i}]", text))
                migrated.setdefault(name, {**plugin, "name": name})
            if migrated:
                lists[key] = list(migrated.values())
        return lists

    def _keep_defaults(self, points: dict[str, dict[str, Any]], given: Mapping[str, Any]) -> None:
        """Enable the score plugins that had another weight by default with it, and those that are gone.

        *given*: the lists of the older version at score, whose plugins stay as they are there.
        """
        weights = dict(OLD_WEIGHTS) if self.version in _WITH_OLD_WEIGHTS else {}
        if self.version in _WITH_LEAST_ALLOCATED:
            weights[AVOID_PODS] = AVOID_PODS_WEIGHT
        if self.version in _WITH_SELECTOR_SPREAD:
            weights[SELECTOR_SPREAD] = 1
        score = points.setdefault("score", {})
        named = {self._name(name) for key in ("enabled", "disabled") for name in _names(given, key)}
        weights = {name: weight for name, weight in weights.items() if name not in named}
        if weights and ALL not in named:
            enabled = [{"name": name, "weight": weight} for name, weight in weights.items()]
            score["enabled"] = [*score.get("enabled", ()), *enabled]
            text = f"the default weights of that version: {', '.join(f'{n} {w}' for n, w in weights.items())}"
            self._notes.append(Note(f"{self.where}.plugins.score", text))
        if SELECTOR_SPREAD in weights and ALL not in named:
            pre_score = points.setdefault("preScore", {})
            if SELECTOR_SPREAD not in _names(pre_score, "enabled"):
                pre_score["enabled"] = [*pre_score.get("enabled", ()), {"name": SELECTOR_SPREAD}]
        if not score:
            del points["score"]

    def _plugin_config(self, given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return one entry for each plugin."""
        config: dict[str, dict[str, Any]] = {}
        for i, each in enumerate(given):
            old = str(each.get("name"))
            args = {k: v for k, v in (each.get("args") or {}).items() if k not in ("apiVersion", "kind")}
            name = self._name(old)
            if old in STRATEGY_TYPES and name == FIT:
                self._notes.append(
                    note_of(f"{self.where}.pluginConfig[{i}]", f"arguments of {old}", PLUGINS[old])
                )
                args = {"scoringStrategy": strategy(old, args)}
            if name == SPREAD and args.get("defaultConstraints") and not args.get("defaultingType"):
                args["defaultingType"] = "List"
            config.setdefault(name, {}).update(args)
        if self.version in _WITH_SELECTOR_SPREAD:
            config.setdefault(SPREAD, {}).setdefault("defaultingType", "List")
        if self._of_fit not in ("", LEAST_ALLOCATED):
            config.setdefault(FIT, {}).setdefault("scoringStrategy", strategy(self._of_fit, {}))
        return [{"name": name, "args": args} for name, args in config.items()]


def _names(plugin_set: Mapping[str, Any], key: str) -> list[str]:
    return [str(each.get("name")) for each in plugin_set.get(key) or ()]


def _with_most_allocated(plugins: Mapping[str, Any]) -> dict[str, Any]:
    """Return *plugins* of an older version with what ClusterAutoscalerProvider changes: full nodes first."""
    score = dict(plugins.get("score") or {})
    score["disabled"] = [*(score.get("disabled") or ()), {"name": LEAST_ALLOCATED}]
    score["enabled"] = [*(score.get("enabled") or ()), {"name": "NodeResourcesMostAllocated", "weight": 1}]
    return {**plugins, "score": score}


def provider(name: str) -> Migration:
    """Return the configuration of an algorithm provider; ``ValueError`` for an unknown name."""
    if name not in PROVIDERS:
        raise ValueError(f"there is no algorithm provider {name!r}; there were {' and '.join(PROVIDERS)}")
    plugins = _with_most_allocated({}) if name == PROVIDERS[1] else {}
    notes: list[Note] = [Note("provider", f"{name} → the default plugins")]
    profile = _ProfileMigration("profiles[0]", VERSIONS[2], notes).migrate({"plugins": plugins})
    return Migration.of(f"AlgorithmProvider {name}", document(profiles=[profile]), notes)
