"""The feature gates of Kubernetes v1.36 that concern scheduling: stage, default, dependencies, support.

A gate whose behaviour can be switched takes effect. One whose behaviour is missing is refused when set to
true, one whose behaviour cannot be switched off is refused when set to false: no setting is accepted that
would silently behave otherwise than in kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Final

from attrs import field

from .._base.brief import shown
from .._base.checked import checked, unchecked
from .._base.value import record, value
from ..errors import InputError, InputErrors
from .other_feature_gates import OTHER_GATES

VERSION: Final = "1.36"
"""Version of Kubernetes that the stages and defaults are those of."""
ALL_ALPHA: Final = "AllAlpha"
ALL_BETA: Final = "AllBeta"


class GateStage(StrEnum):
    """Maturity of a feature."""

    ALPHA = "ALPHA"
    """Off by default, and may vanish."""
    BETA = "BETA"
    """Complete; mostly on by default."""
    GA = "GA"
    """Stable; on, and to be removed as a gate later."""


class GateSupport(Enum):
    """Effect of setting a gate here."""

    SWITCHABLE = "switchable"
    """Both values take effect."""
    BUILT_IN = "built in"
    """The behaviour is always on."""
    MISSING = "missing"
    """The behaviour is always off."""
    INTERNAL = "internal"
    """The gate chooses between implementations of kube-scheduler; decisions are the same."""


@record(frozen=True)
class FeatureGate:
    """One feature gate. ``default`` is that of kube-scheduler; a locked gate keeps it."""

    name: str
    stage: GateStage
    default: bool
    support: GateSupport
    depends_on: tuple[str, ...] = ()
    locked: bool = False

    @property
    def default_here(self) -> bool:
        """Return whether the behaviour is on here when the gate is not set."""
        if self.support is GateSupport.MISSING:
            return False
        return self.default


def _alpha(name: str, support: GateSupport, *depends_on: str) -> FeatureGate:
    return FeatureGate(name, GateStage.ALPHA, False, support, depends_on)


def _beta(name: str, support: GateSupport, *depends_on: str, default: bool = True) -> FeatureGate:
    return FeatureGate(name, GateStage.BETA, default, support, depends_on)


def _ga(name: str, *depends_on: str, locked: bool = True) -> FeatureGate:
    return FeatureGate(name, GateStage.GA, True, GateSupport.BUILT_IN, depends_on, locked)


_SWITCHABLE, _BUILT_IN = GateSupport.SWITCHABLE, GateSupport.BUILT_IN
_MISSING, _INTERNAL = GateSupport.MISSING, GateSupport.INTERNAL
_DRA: Final = "DynamicResourceAllocation"

_TABLE: Final = (
    # Devices
    _ga(_DRA),
    _ga("DRAAdminAccess", _DRA),
    _beta("DRAConsumableCapacity", _BUILT_IN, _DRA),
    _beta("DRADeviceBindingConditions", _BUILT_IN, _DRA, "DRAResourceClaimDeviceStatus"),
    _beta("DRADeviceTaintRules", _MISSING, "DRADeviceTaints", default=False),
    _beta("DRADeviceTaints", _BUILT_IN, _DRA),
    _beta("DRAExtendedResource", _BUILT_IN, _DRA),
    _alpha("DRAListTypeAttributes", _MISSING, _DRA),
    _alpha("DRANodeAllocatableResources", _MISSING, _DRA),
    _beta("DRAPartitionableDevices", _BUILT_IN, _DRA),
    _ga("DRAPrioritizedList", _DRA, locked=False),
    _beta("DRAResourceClaimDeviceStatus", _BUILT_IN),
    _beta("DRASchedulerFilterTimeout", _BUILT_IN, _DRA),
    _alpha("DRAWorkloadResourceClaims", _MISSING, _DRA, "GenericWorkload"),
    # Groups of pods
    _alpha("GenericWorkload", _SWITCHABLE),
    _alpha("GangScheduling", _SWITCHABLE, "GenericWorkload"),
    _alpha("TopologyAwareWorkloadScheduling", _SWITCHABLE, "GenericWorkload"),
    _alpha("WorkloadAwarePreemption", _SWITCHABLE, "GangScheduling"),
    # Pods and nodes
    _beta(
        "InPlacePodLevelResourcesVerticalScaling",
        _BUILT_IN,
        "InPlacePodVerticalScaling",
        "PodLevelResources",
        "NodeDeclaredFeatures",
    ),
    _ga("InPlacePodVerticalScaling"),
    _ga("MatchLabelKeysInPodAffinity"),
    _beta("MatchLabelKeysInPodTopologySpread", _BUILT_IN),
    _beta("MatchLabelKeysInPodTopologySpreadSelectorMerge", _BUILT_IN, "MatchLabelKeysInPodTopologySpread"),
    _beta("NodeDeclaredFeatures", _BUILT_IN),
    _ga("NodeInclusionPolicyInPodTopologySpread"),
    _beta("PodLevelResources", _BUILT_IN),
    _ga("PodSchedulingReadiness"),
    _ga("SidecarContainers"),
    _alpha("TaintTolerationComparisonOperators", _MISSING),
    # Storage
    _alpha("StorageCapacityScoring", _SWITCHABLE),
    _ga("VolumeAttributesClass"),
    _alpha("VolumeLimitScaling", _MISSING),
    # The scheduler itself
    _beta("NominatedNodeNameForExpectation", _MISSING),
    _beta("OpportunisticBatching", _INTERNAL),
    _beta("SchedulerAsyncAPICalls", _INTERNAL, default=False),
    _beta("SchedulerAsyncPreemption", _INTERNAL),
    _beta("SchedulerPopFromBackoffQ", _BUILT_IN),
    _ga("SchedulerQueueingHints"),
    # The process
    _beta("ComponentFlagz", _MISSING),
    _beta("ComponentStatusz", _MISSING),
    _beta("CoordinatedLeaderElection", _MISSING, default=False),
    _beta("WatchListClient", _INTERNAL),
)

FEATURE_GATES: Final[Mapping[str, FeatureGate]] = MappingProxyType({each.name: each for each in _TABLE})
"""Name → gate, of all that concern the scheduler."""

_BOOLEANS: Final = dict.fromkeys(("true", "True", "TRUE", "t", "T", "1"), True) | dict.fromkeys(
    ("false", "False", "FALSE", "f", "F", "0"), False
)


@value
class FeatureGates:
    """Features that are on. :meth:`of` and :meth:`parse` check names and dependencies."""

    settings: Mapping[str, bool] = field(factory=dict, hash=False)
    """The gates that were set, by name."""

    @checked
    def enabled(self, name: str) -> bool:
        """Return whether the behaviour behind the gate *name* is on. Raises :class:`KeyError` without one."""
        gate = FEATURE_GATES[name]
        if name in self.settings:
            return self.settings[name]
        group = {GateStage.ALPHA: ALL_ALPHA, GateStage.BETA: ALL_BETA}.get(gate.stage, "")
        if group in self.settings and gate.support is GateSupport.SWITCHABLE:
            return self.settings[group]
        return gate.default_here

    @classmethod
    def of(cls, settings: FeatureGates | Mapping[str, bool] | None) -> FeatureGates:
        """Return the gates with these *settings*. Raises :class:`InputError` with all problems."""
        if isinstance(settings, FeatureGates):
            return settings
        if not isinstance(settings, Mapping | None):
            fix = 'give a mapping such as {"GenericWorkload": True}'
            raise InputError("feature_gates", f"{shown(settings)} is not a mapping", fix)
        gates = unchecked(cls)(dict(settings or {}))
        problems = list(gates._problems())
        if problems:
            raise problems[0] if len(problems) == 1 else InputErrors(problems)
        return gates

    @classmethod
    @checked
    def parse(cls, text: str) -> FeatureGates:
        """Return the gates of ``Name=true,Other=false``, as ``--feature-gates`` has them.

        A name may be preceded by the component, ``kube:``. Raises :class:`InputError`.
        """
        settings = {}
        for item in filter(None, (each.strip() for each in text.split(","))):
            name, equals, value = item.partition("=")
            on = _BOOLEANS.get(value.strip())
            if not equals or on is None:
                raise InputError("", f"{shown(item)} sets no feature gate", "write Name=true or Name=false")
            settings[name.strip().removeprefix("kube:")] = on
        return cls.of(settings)

    def without_effect(self) -> tuple[str, ...]:
        """Return the names that were set and change nothing here, whatever their value."""
        return tuple(
            name
            for name in self.settings
            if name in OTHER_GATES
            or (name in FEATURE_GATES and FEATURE_GATES[name].support is GateSupport.INTERNAL)
        )

    def _problems(self) -> Iterator[InputError]:
        refused = [each for name, on in self.settings.items() if (each := _refusal(name, on)) is not None]
        yield from refused
        if not refused:
            yield from self._unmet_dependencies()

    def _unmet_dependencies(self) -> Iterator[InputError]:
        for gate in FEATURE_GATES.values():
            off = [name for name in gate.depends_on if not self.enabled(name)]
            if off and self.enabled(gate.name):
                yield InputError(gate.name, f"it is on, and depends on {', '.join(off)}", "set these to true")


NO_GATES: Final = FeatureGates()
"""All gates at their defaults."""


def _refusal(name: str, on: bool) -> InputError | None:
    """Return why *name* may not be set to *on*; ``None`` if it may."""
    if not isinstance(on, bool):
        return InputError(name, f"{shown(on)} is neither True nor False", "write one of these")
    if name in OTHER_GATES:
        return None
    if name in (ALL_ALPHA, ALL_BETA):
        return _group_refusal(name, on)
    gate = FEATURE_GATES.get(name)
    if gate is None:
        close = get_close_matches(name, (*FEATURE_GATES, *OTHER_GATES), n=1)
        fix = f"did you mean {close[0]}?" if close else "remove it"
        return InputError(name, f"Kubernetes v{VERSION} has no such feature gate", fix)
    if gate.locked and on != gate.default:
        return InputError(name, f"the gate is locked to {str(gate.default).lower()}", "remove it")
    if on and gate.support is GateSupport.MISSING:
        return InputError(name, "this scheduler does not have the feature", "remove it")
    if not on and gate.support is GateSupport.BUILT_IN:
        return InputError(name, "this scheduler cannot switch the feature off", "remove it")
    return None


def _group_refusal(name: str, on: bool) -> InputError | None:
    """Refuse to switch on a whole stage of which features are missing."""
    stage = GateStage.ALPHA if name == ALL_ALPHA else GateStage.BETA
    fixed = GateSupport.MISSING if on else GateSupport.BUILT_IN
    names = [each.name for each in FEATURE_GATES.values() if each.stage is stage and each.support is fixed]
    if not names:
        return None
    verb = "does not have" if on else "cannot switch off"
    return InputError(name, f"this scheduler {verb} {', '.join(names)}", "set single gates")
