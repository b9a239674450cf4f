"""Policy v1: predicates and priorities by name become the plugins of one profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any, Final

from attrs import define, field

from schedframe.config.errors import ConfigDecodeError, FieldError

from .extenders import VERSION, extender
from .migration import Migration, Note, document, note_of
from .names import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EMPTY_FIRST,
    FIT,
    LABEL_PREFERENCE,
    LABELS_PRESENCE,
    LATER_PLUGINS,
    MANDATORY,
    NODE_LABEL,
    POD_AFFINITY,
    PRE_FILTERS,
    PRE_SCORES,
    PREDICATES,
    PRIORITIES,
    RATIO,
    SERVICE_AFFINITY,
    SERVICE_APART,
    SERVICE_TOGETHER,
    SPREAD,
    STRATEGIES,
    STRATEGY_TYPES,
)

_MAX_REPEATED: Final = 100
"""Entries of a list of labels that stand for different weights of these labels."""
_ARGUMENTS: Final = {
    "labelsPresence": LABELS_PRESENCE,
    "serviceAffinity": SERVICE_TOGETHER,
    "labelPreference": LABEL_PREFERENCE,
    "serviceAntiAffinity": SERVICE_APART,
    "requestedToCapacityRatioArguments": RATIO,
}
"""Argument → the predicate or priority that it makes of any name."""


@define
class PolicyMigration:
    """Collects plugins, arguments and notes while a policy is read."""

    policy: Mapping[str, Any]
    _filters: list[str] = field(factory=list)
    _scores: dict[str, int] = field(factory=dict)
    _args: dict[str, dict[str, Any]] = field(factory=dict)
    _weights: dict[tuple[str, str], dict[str, int]] = field(factory=dict)
    """Plugin and its argument → label → weight."""
    _notes: list[Note] = field(factory=list)
    _errors: list[FieldError] = field(factory=list)

    def migrate(self) -> Migration:
        """Return the configuration; ConfigDecodeError with all names and arguments that are wrong."""
        policy = self.policy
        self._read_predicates(policy.get("predicates"))
        self._read_priorities(policy.get("priorities"))
        self._read_weight(policy.get("hardPodAffinitySymmetricWeight"))
        if self._errors:
            raise ConfigDecodeError(self._errors)
        self._set_labels()
        later = ", ".join(LATER_PLUGINS)
        self._note("plugins", f"no policy names {later}; enable them if pods use what came after v1.22")
        profile: dict[str, Any] = {"plugins": self._plugins(), "pluginConfig": self._plugin_config()}
        if policy.get("alwaysCheckAllPredicates"):
            self._note("alwaysCheckAllPredicates", "runAllFilters of the profile")
            profile["runAllFilters"] = True
        extenders = [extender(each) for each in policy.get("extenders") or ()]
        for i, given in enumerate(policy.get("extenders") or ()):
            if VERSION in given:
                self._note(f"extenders[{i}].{VERSION}", "left out; extenders had no version")
        return Migration.of("Policy v1", document(profiles=[profile], extenders=extenders), self._notes)

    def _note(self, where: str, text: str, *, kept: bool = True) -> None:
        self._notes.append(Note(where, text, kept))

    def _named(self, where: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> str | None:
        """Return the name of a predicate or priority, which an argument decides if there is one.

        ``None``, with an error, if *known* has no such name, or if there is not exactly one argument.
        """
        name, argument = str(given.get("name", "")), given.get("argument")
        if argument is not None:
            arguments = [each for each in argument if argument[each] is not None]
            possible = [each for each, name in _ARGUMENTS.items() if name in known]
            if len(arguments) != 1 or arguments[0] not in possible:
                detail = f"give exactly one of {', '.join(possible)}"
                self._errors.append(FieldError.invalid(f"{where}.argument", arguments, detail))
                return None
            return _ARGUMENTS[arguments[0]]
        if name not in known:
            self._errors.append(FieldError.not_supported(f"{where}.name", name, tuple(known)))
            return None
        return name

    # ---- predicates --------------------------------------------------------------------------------------

    def _read_predicates(self, given: Sequence[Mapping[str, Any]] | None) -> None:
        if given is None:
            self._note("predicates", f"not given, so the default ones: {', '.join(DEFAULT_PREDICATES)}")
            given = [{"name": name} for name in DEFAULT_PREDICATES]
        wanted = set()
        for i, predicate in enumerate(given):
            name = self._named(f"predicates[{i}]", predicate, PREDICATES)
            if name is None:
                continue
            wanted.add(name)
            self._notes.append(note_of(f"predicates[{i}]", name, PREDICATES[name]))
            self._read_labels(predicate.get("argument") or {})
        for name in sorted(set(MANDATORY) - wanted):
            self._notes.append(note_of("predicates", f"{name}, which is mandatory,", PREDICATES[name]))
            wanted.add(name)
        for name in PREDICATES:
            if name in wanted:
                self._filters += [p for p in PREDICATES[name].plugins if p not in self._filters]

    def _read_labels(self, argument: Mapping[str, Any]) -> None:
        presence, service = argument.get("labelsPresence"), argument.get("serviceAffinity")
        if presence is not None:
            name = "presentLabels" if presence.get("presence") else "absentLabels"
            self._extend(NODE_LABEL, name, presence.get("labels"))
        if service is not None:
            self._extend(SERVICE_AFFINITY, "affinityLabels", service.get("labels"))

    def _extend(self, plugin: str, argument: str, labels: Sequence[str] | None) -> None:
        given = self._args.setdefault(plugin, {}).setdefault(argument, [])
        given += [label for label in labels or () if label not in given]

    # ---- priorities --------------------------------------------------------------------------------------

    def _read_priorities(self, given: Sequence[Mapping[str, Any]] | None) -> None:
        if given is None:
            self._note("priorities", f"not given, so the default ones: {', '.join(DEFAULT_PRIORITIES)}")
            given = [{"name": name, "weight": weight} for name, weight in DEFAULT_PRIORITIES.items()]
        for i, priority in enumerate(given):
            where, weight = f"priorities[{i}]", priority.get("weight", 0)
            name = self._named(where, priority, PRIORITIES)
            if name is None:
                continue
            if not isinstance(weight, int) or weight < 1:
                self._errors.append(FieldError.invalid(f"{where}.weight", weight, "write an integer above 0"))
                continue
            self._read_priority(where, name, weight, priority.get("argument") or {})

    def _read_priority(self, where: str, name: str, weight: int, argument: Mapping[str, Any]) -> None:
        self._notes.append(note_of(where, name, PRIORITIES[name]))
        preference, service = argument.get("labelPreference"), argument.get("serviceAntiAffinity")
        plugins = PRIORITIES[name].plugins
        if name in STRATEGIES:
            plugins = (self._strategy(where, name, argument.get("requestedToCapacityRatioArguments")),)
        if preference is not None:
            kind = "presentLabelsPreference" if preference.get("presence") else "absentLabelsPreference"
            self._add_weight((NODE_LABEL, kind), preference.get("label", ""), weight)
        elif service is not None:
            key = (SERVICE_AFFINITY, "antiAffinityLabelsPreference")
            self._add_weight(key, service.get("label", ""), weight)
        for plugin in plugins:
            if plugin in self._scores and argument.get("requestedToCapacityRatioArguments") is not None:
                self._note(where, f"the arguments of {plugin} are those of an earlier priority", kept=False)
            self._scores[plugin] = self._scores.get(plugin, 0) + weight

    def _add_weight(self, key: tuple[str, str], label: str, weight: int) -> None:
        weights = self._weights.setdefault(key, {})
        weights[label] = weights.get(label, 0) + weight

    def _strategy(self, where: str, name: str, ratio: Mapping[str, Any] | None) -> str:
        """Return the plugin that scores by the strategy of a priority, and set its arguments.

        The first strategy is that of NodeResourcesFit, which has one only; others have plugins of their own.
        """
        former = STRATEGIES[name]
        args: dict[str, Any] = {}
        if name == RATIO:
            args["shape"] = (ratio or {}).get("shape") or EMPTY_FIRST
            if ratio and ratio.get("resources"):
                args["resources"] = ratio["resources"]
        if FIT not in self._args or self._args[FIT]["scoringStrategy"]["type"] == STRATEGY_TYPES[former]:
            self._args.setdefault(FIT, {"scoringStrategy": strategy(former, args)})
            return FIT
        self._note(where, f"by {former}, because {FIT} has another strategy already")
        if args:
            self._args.setdefault(former, args)
        return former

    def _read_weight(self, weight: Any) -> None:
        if not weight:
            return
        where = "hardPodAffinitySymmetricWeight"
        if not isinstance(weight, int) or not 0 <= weight <= 100:
            self._errors.append(FieldError.invalid(where, weight, "write an integer from 0 to 100"))
        self._args[POD_AFFINITY] = {"hardPodAffinityWeight": weight}
        self._note(where, f"hardPodAffinityWeight of {POD_AFFINITY}")

    # ---- the profile -------------------------------------------------------------------------------------

    def _set_labels(self) -> None:
        """Set the labels that NodeLabel and ServiceAffinity score.

        The plugins score the mean over their labels. A label with a higher weight than others is in the list
        several times.
        """
        for plugin in (NODE_LABEL, SERVICE_AFFINITY):
            given = {key: weights for key, weights in self._weights.items() if key[0] == plugin}
            unit = gcd(*(weight for weights in given.values() for weight in weights.values()))
            total = sum(weight for weights in given.values() for weight in weights.values())
            if unit and total // unit > _MAX_REPEATED:
                self._note("priorities", f"{plugin} scores its labels with equal weights", kept=False)
                unit = 0
            for (_, argument), weights in given.items():
                labels = [label for label, n in weights.items() for _ in range(n // unit if unit else 1)]
                self._args.setdefault(plugin, {})[argument] = labels

    def _plugins(self) -> dict[str, Any]:
        filters, scores = self._filters, self._scores
        volumes = ["VolumeBinding"] if "VolumeBinding" in filters else []
        points: dict[str, list[str]] = {
            "preEnqueue": ["SchedulingGates", "DefaultPreemption"],
            "queueSort": ["PrioritySort"],
            "preFilter": [name for name in filters if name in PRE_FILTERS],
            "filter": filters,
            "postFilter": ["DefaultPreemption"],
            "preScore": [name for name in scores if name in PRE_SCORES],
            "reserve": volumes,
            "preBind": volumes,
            "bind": ["DefaultBinder"],
        }
        plugins: dict[str, Any] = {"multiPoint": {"disabled": [{"name": "*"}]}}
        plugins |= {
            point: {"enabled": [{"name": name} for name in names]} for point, names in points.items() if names
        }
        if scores:
            weights = [{"name": name, "weight": weight} for name, weight in scores.items()]
            plugins["score"] = {"enabled": weights}
        return plugins

    def _plugin_config(self) -> list[dict[str, Any]]:
        args = dict(self._args)
        if SPREAD in (*self._filters, *self._scores):
            args[SPREAD] = {"defaultConstraints": [], "defaultingType": "List"}
        return [{"name": name, "args": each} for name, each in args.items()]


def strategy(former: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scoring strategy that a plugin of older versions with these arguments is now."""
    strategy: dict[str, Any] = {"type": STRATEGY_TYPES[former]}
    if args.get("resources"):
        strategy["resources"] = args["resources"]
    if former == STRATEGIES[RATIO]:
        strategy["requestedToCapacityRatio"] = {"shape": args.get("shape") or EMPTY_FIRST}
    return strategy
