"""Policy v1: predicates and priorities by name become the plugins of one profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from ..errors import ConfigDecodeError, FieldError
from .migration import Migration, Note, document, note_of
from .names import (
    AFFINITY,
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    FIT,
    MANDATORY,
    PRE_FILTERS,
    PREDICATES,
    PRIORITIES,
    SPREAD,
    STRATEGIES,
    WITHOUT_PRE_SCORE,
)

_MAX_PRIORITY_WEIGHT = 100


@define
class PolicyMigration:
    """Collects plugins, arguments and notes while a policy is read."""

    policy: Mapping[str, Any]
    _filters: list[str] = field(factory=list)
    _scores: dict[str, int] = field(factory=dict)
    _strategy: dict[str, Any] = field(factory=dict)
    _required: list[dict[str, Any]] = field(factory=list)
    _preferred: list[dict[str, Any]] = field(factory=list)
    _constraints: list[dict[str, Any]] = field(factory=list)
    _selector_spread: bool = False
    _notes: list[Note] = field(factory=list)
    _errors: list[FieldError] = field(factory=list)

    def migrate(self) -> Migration:
        """Return the configuration; ConfigDecodeError with all names and arguments that are wrong."""
        policy = self.policy
        self._read_predicates(policy.get("predicates"))
        self._read_priorities(policy.get("priorities"))
        if policy.get("alwaysCheckAllPredicates"):
            self._note(
                "alwaysCheckAllPredicates",
                "a node is rejected by the first plugin that rejects it; only messages differ",
            )
        if self._errors:
            raise ConfigDecodeError(self._errors)
        profile = {"plugins": self._plugins(), "pluginConfig": self._plugin_config()}
        extenders = [_extender(each) for each in policy.get("extenders") or ()]
        return Migration("Policy v1", document(profiles=[profile], extenders=extenders), tuple(self._notes))

    def _note(self, where: str, text: str, *, kept: bool = True) -> None:
        self._notes.append(Note(where, text, kept))

    # ---- predicates --------------------------------------------------------------------------------------

    def _read_predicates(self, given: Sequence[Mapping[str, Any]] | None) -> None:
        if given is None:
            self._note("predicates", f"not given, so the default ones: {', '.join(DEFAULT_PREDICATES)}")
            given = [{"name": name} for name in DEFAULT_PREDICATES]
        wanted = set()
        for i, predicate in enumerate(given):
            name = self._predicate(f"predicates[{i}]", predicate)
            if name is not None:
                wanted.add(name)
        for name in sorted(set(MANDATORY) - wanted):
            self._notes.append(note_of("predicates", f"{name}, which is mandatory,", PREDICATES[name]))
            wanted.add(name)
        for name in PREDICATES:
            if name in wanted:
                self._filters += [p for p in PREDICATES[name].plugins if p not in self._filters]

    def _predicate(self, where: str, predicate: Mapping[str, Any]) -> str | None:
        """Return the name of the predicate that this one is, ``None`` if there is no such predicate."""
        name, argument = str(predicate.get("name", "")), predicate.get("argument") or {}
        presence = argument.get("labelsPresence")
        if presence is not None:
            operator = "Exists" if presence.get("presence") else "DoesNotExist"
            self._required += [{"key": key, "operator": operator} for key in presence.get("labels") or ()]
            name = "CheckNodeLabelPresence"
        elif argument.get("serviceAffinity") is not None:
            name = "CheckServiceAffinity"
        elif name not in PREDICATES:
            self._errors.append(_unknown(f"{where}.name", name, tuple(PREDICATES)))
            return None
        self._notes.append(note_of(where, name, PREDICATES[name]))
        return name

    # ---- priorities --------------------------------------------------------------------------------------

    def _read_priorities(self, given: Sequence[Mapping[str, Any]] | None) -> None:
        if given is None:
            self._note("priorities", f"not given, so the default ones: {', '.join(DEFAULT_PRIORITIES)}")
            given = [{"name": name, "weight": weight} for name, weight in DEFAULT_PRIORITIES.items()]
        for i, priority in enumerate(given):
            self._priority(f"priorities[{i}]", priority)

    def _priority(self, where: str, priority: Mapping[str, Any]) -> None:
        weight, argument = priority.get("weight", 0), priority.get("argument") or {}
        name = self._priority_name(str(priority.get("name", "")), argument, weight)
        if name not in PRIORITIES:
            self._errors.append(_unknown(f"{where}.name", name, tuple(PRIORITIES)))
            return
        if not isinstance(weight, int) or weight < 1:
            self._errors.append(FieldError.invalid(f"{where}.weight", weight, "write an integer above 0"))
            return
        self._notes.append(note_of(where, name, PRIORITIES[name]))
        if name in STRATEGIES and not self._set_strategy(where, name, argument):
            return
        self._selector_spread |= name in ("SelectorSpreadPriority", "ServiceSpreadingPriority")
        for plugin in PRIORITIES[name].plugins:
            if plugin in self._scores:
                self._note(where, f"the weight joins that of {plugin}, which scores both", kept=False)
            self._scores[plugin] = self._scores.get(plugin, 0) + weight

    def _priority_name(self, name: str, argument: Mapping[str, Any], weight: Any) -> str:
        """Return the name of the priority: those with an argument have names of the user's choice."""
        if (label := argument.get("labelPreference")) is not None:
            operator = "Exists" if label.get("presence") else "DoesNotExist"
            term = {"matchExpressions": [{"key": label.get("label", ""), "operator": operator}]}
            limited = min(weight, _MAX_PRIORITY_WEIGHT) if isinstance(weight, int) else 1
            self._preferred.append({"weight": max(limited, 1), "preference": term})
            return "NodeLabelPriority"
        if (service := argument.get("serviceAntiAffinity")) is not None:
            key = service.get("label", "")
            constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
            self._constraints.append(constraint)
            return "ServiceAntiAffinityPriority"
        if argument.get("requestedToCapacityRatioArguments") is not None:
            return "RequestedToCapacityRatioPriority"
        return name

    def _set_strategy(self, where: str, name: str, argument: Mapping[str, Any]) -> bool:
        strategy: dict[str, Any] = {"type": STRATEGIES[name]}
        ratio = argument.get("requestedToCapacityRatioArguments")
        if ratio is not None:
            strategy["requestedToCapacityRatio"] = {"shape": ratio.get("shape") or []}
            if ratio.get("resources"):
                strategy["resources"] = ratio["resources"]
        if self._strategy and self._strategy != strategy:
            self._note(
                where, f"{FIT} has one strategy, and it is {self._strategy['type']} already", kept=False
            )
            return False
        self._strategy = strategy
        return True

    # ---- the profile -------------------------------------------------------------------------------------

    def _plugins(self) -> dict[str, Any]:
        filters, scores = self._filters, self._scores
        volumes = ["VolumeBinding"] if "VolumeBinding" in filters else []
        points: dict[str, list[str]] = {
            "preEnqueue": ["SchedulingGates", "DefaultPreemption"],
            "queueSort": ["PrioritySort"],
            "preFilter": [name for name in filters if name in PRE_FILTERS],
            "filter": filters,
            "postFilter": ["DefaultPreemption"],
            "preScore": [name for name in scores if name not in WITHOUT_PRE_SCORE],
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
        args: dict[str, dict[str, Any]] = {}
        if self._strategy:
            args[FIT] = {"scoringStrategy": self._strategy}
        affinity: dict[str, Any] = {}
        if self._required:
            terms = [{"matchExpressions": self._required}]
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if self._preferred:
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = self._preferred
        if affinity:
            args[AFFINITY] = {"addedAffinity": affinity}
        weight = self.policy.get("hardPodAffinitySymmetricWeight")
        if weight:
            args["InterPodAffinity"] = {"hardPodAffinityWeight": weight}
            self._note("hardPodAffinitySymmetricWeight", "hardPodAffinityWeight of InterPodAffinity")
        if SPREAD in (*self._filters, *self._scores) and not self._selector_spread:
            args[SPREAD] = {"defaultConstraints": self._constraints, "defaultingType": "List"}
        elif self._constraints:
            self._note("priorities", f"{SPREAD} has its default constraints, others are left out", kept=False)
        return [{"name": name, "args": each} for name, each in args.items()]


def _extender(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an extender with the field names of today; a timeout is a number of nanoseconds in a policy."""
    extender = dict(given)
    if "enableHttps" in extender:
        extender["enableHTTPS"] = extender.pop("enableHttps")
    timeout = extender.get("httpTimeout")
    if isinstance(timeout, int):
        extender["httpTimeout"] = f"{timeout}ns"
    return extender


def _unknown(where: str, name: str, known: tuple[str, ...]) -> FieldError:
    return FieldError.not_supported(where, name, known)
