"""Workloads that keep pods running: deployments, replica sets, stateful sets and daemon sets.

Source of the rules: pkg/apis/apps/validation, and ``ValidateReplicationControllerSpec`` of
pkg/apis/core/validation, after defaulting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from .budgets import is_zero, share_problem
from .reading import is_left_out, mapping, number, objects, sequence, text
from .selecting import match_problems, selector_problems

_SHARE: Final = "25%"
"""What a rolling update of a deployment may add and take away at a time by default."""
_DEADLINE: Final = 600
"""Seconds in which a deployment must get on by default."""


def check_deployment_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a deployment over several fields."""
    yield from check_replica_set_spec(spec)
    yield from (error.at("strategy") for error in _deployment_strategy(mapping(spec, "strategy")))
    ready = number(spec, "minReadySeconds") or 0
    given = number(spec, "progressDeadlineSeconds")
    deadline = _DEADLINE if given is None else given
    if deadline <= ready:
        of = f"{deadline} seconds" if given is not None else f"the default, {deadline} seconds"
        problem = f"{of}, is no more than minReadySeconds, {ready}"
        yield InputError("progressDeadlineSeconds", problem, f"write {ready + 1} or more")


def _deployment_strategy(strategy: Mapping[str, Any]) -> Iterator[InputError]:
    update = strategy.get("rollingUpdate")
    if not isinstance(update, Mapping):
        return
    if text(strategy, "type") == "Recreate":
        yield InputError("rollingUpdate", "it does not go with type Recreate", "write type: RollingUpdate")
        return
    unavailable, surge = (_given(update, key, _SHARE) for key in ("maxUnavailable", "maxSurge"))
    yield from _share_problems(update, surge_limit=None)
    if is_zero(unavailable) and is_zero(surge):
        path, problem = "rollingUpdate.maxUnavailable", "maxUnavailable and maxSurge are 0"
        yield InputError(path, f"{problem}, so that nothing could be updated", "write 1 or more in one")


def _given(update: Mapping[str, Any], key: str, default: Any) -> Any:
    return default if is_left_out(update, key) else update[key]


def _share_problems(update: Mapping[str, Any], *, surge_limit: int | None) -> Iterator[InputError]:
    for key, highest in (("maxUnavailable", 100), ("maxSurge", surge_limit)):
        if not is_left_out(update, key) and (error := share_problem(update[key], highest=highest)):
            yield error.at(key).at("rollingUpdate")


def check_replica_set_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a replica set over several fields."""
    yield from selector_problems(spec)
    yield from _always_running(spec, "pods of this kind are always restarted")


def check_controller_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a replication controller over several fields."""
    selector = spec.get("selector")
    if isinstance(selector, Mapping) and selector and not is_left_out(spec, "template"):
        yield from match_problems({"matchLabels": selector}, mapping(spec, "template"))
    yield from _always_running(spec, "pods of this kind are always restarted")


def _always_running(spec: Mapping[str, Any], why: str) -> Iterator[InputError]:
    pod = mapping(mapping(spec, "template"), "spec")
    if (policy := text(pod, "restartPolicy")) not in ("", "Always"):
        problem = f"{described(policy)} does not go with {why}"
        yield InputError("template.spec.restartPolicy", problem, "write Always, or leave it out")
    if not is_left_out(pod, "activeDeadlineSeconds"):
        path, problem = "template.spec.activeDeadlineSeconds", "pods of this kind have no deadline"
        yield InputError(path, problem, "leave it out, or write a Job")


def check_daemon_set_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a daemon set over several fields."""
    yield from check_replica_set_spec(spec)
    strategy = mapping(spec, "updateStrategy")
    update = strategy.get("rollingUpdate")
    if not isinstance(update, Mapping) or text(strategy, "type") == "OnDelete":
        return
    yield from (error.at("updateStrategy") for error in _share_problems(update, surge_limit=100))
    unavailable, surge = _given(update, "maxUnavailable", 1), _given(update, "maxSurge", 0)
    if is_zero(unavailable) and is_zero(surge):
        path, problem = "maxUnavailable", "maxUnavailable and maxSurge are 0"
        error = InputError(path, f"{problem}, so that nothing could be updated", "write 1 or more in one")
        yield error.at("updateStrategy.rollingUpdate")
    elif not is_zero(unavailable) and not is_zero(surge):
        problem = "maxUnavailable is not 0" + ("" if "maxUnavailable" in update else ", but 1 by default")
        error = InputError("maxSurge", problem, "write maxUnavailable: 0, or leave maxSurge out")
        yield error.at("updateStrategy.rollingUpdate")


def check_stateful_set_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a stateful set over several fields."""
    yield from check_replica_set_spec(spec)
    strategy = mapping(spec, "updateStrategy")
    update = strategy.get("rollingUpdate")
    if not isinstance(update, Mapping):
        return
    path = "updateStrategy.rollingUpdate"
    if text(strategy, "type") == "OnDelete":
        yield InputError(path, "it does not go with type OnDelete", "write type: RollingUpdate")
    elif not is_left_out(update, "maxUnavailable"):
        if (error := share_problem(update["maxUnavailable"])) is not None:
            yield error.at("maxUnavailable").at(path)
        elif is_zero(update["maxUnavailable"]):
            problem = "it is 0, so that nothing could be updated"
            yield InputError("maxUnavailable", problem, "write 1 or more").at(path)


def with_claims_as_volumes(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the spec of a stateful set with the volumes that its pods get for the templates of claims."""
    template, pod = mapping(spec, "template"), mapping(mapping(spec, "template"), "spec")
    claims = [text(mapping(claim, "metadata"), "name") for _, claim in objects(spec, "volumeClaimTemplates")]
    volumes = sequence(pod, "volumes")
    if not claims or not pod or (not volumes and not is_left_out(pod, "volumes")):
        return spec
    own = {text(volume, "name") for _, volume in objects(pod, "volumes")}
    made = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims if name not in own
    ]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": [*volumes, *made]}}}
