"""Policies of jobs: which failures end a job, and which completed indices make it succeed.

Source of the rules: ``validatePodFailurePolicy`` and ``validateSuccessPolicy`` of pkg/apis/batch/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_key
from .reading import is_left_out, mapping, number, objects, sequence, text

_MOST_RULES: Final = 20
_MOST_CODES: Final = 255
_LONGEST_INDEXES: Final = 64 * 1024
_INTERVAL: Final = re.compile(r"\+?([0-9]{1,10})(?:-\+?([0-9]{1,10}))?", re.ASCII)


def failure_policy_problems(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the policy for failed pods of a job, and of what it needs."""
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, Mapping):
        return
    pod = mapping(mapping(spec, "template"), "spec")
    if text(pod, "restartPolicy") == "OnFailure":
        problem = "podFailurePolicy looks at pods that failed, and OnFailure restarts their containers"
        yield InputError("template.spec.restartPolicy", problem, "write Never")
    if text(spec, "podReplacementPolicy") == "TerminatingOrFailed":
        problem = "with a podFailurePolicy, only failed pods are replaced"
        yield InputError("podReplacementPolicy", problem, "write Failed, or leave it out")
    yield from _too_many("podFailurePolicy.rules", sequence(policy, "rules"), _MOST_RULES)
    lists = (objects(pod, "containers"), objects(pod, "initContainers"))
    names = {text(container, "name") for each in lists for _, container in each}
    for path, rule in objects(policy, "rules"):
        yield from (error.at(path).at("podFailurePolicy") for error in _rule(rule, spec, names))


def _too_many(path: str, items: Any, most: int) -> Iterator[InputError]:
    if len(items) > most:
        yield InputError(path, f"there are {len(items)}", f"write at most {most}")


def _rule(rule: Mapping[str, Any], spec: Mapping[str, Any], names: set[str]) -> Iterator[InputError]:
    codes, conditions = rule.get("onExitCodes"), sequence(rule, "onPodConditions")
    if text(rule, "action") == "FailIndex" and is_left_out(spec, "backoffLimitPerIndex"):
        problem = "FailIndex needs backoffLimitPerIndex, and there is none"
        yield InputError("action", problem, "write backoffLimitPerIndex, or FailJob")
    if (codes is not None) == bool(conditions):
        problem = "there are onExitCodes and onPodConditions" if conditions else "it says nothing about pods"
        yield InputError("", problem, "write onExitCodes or onPodConditions")
    if isinstance(codes, Mapping):
        yield from (error.at("onExitCodes") for error in _exit_codes(codes, names))
    yield from _too_many("onPodConditions", conditions, _MOST_RULES)
    for path, pattern in objects(rule, "onPodConditions"):
        if (error := check_label_key(text(pattern, "type"), may_be_empty=False)) is not None:
            problem = f"{described(text(pattern, 'type'))} is no type of a condition"
            yield InputError("type", problem, error.fix).at(path)


def _exit_codes(codes: Mapping[str, Any], names: set[str]) -> Iterator[InputError]:
    name, values = codes.get("containerName"), sequence(codes, "values")
    if isinstance(name, str) and name not in names:
        problem = f"the template has no container {described(name)}"
        yield InputError("containerName", problem, "correct the name, or leave it out")
    yield from _too_many("values", values, _MOST_CODES)
    numbers = [value for value in values if isinstance(value, int)]
    for index, value in enumerate(values):
        if value == 0 and text(codes, "operator") == "In":
            problem = "0 is the exit code of a container that did not fail"
            yield InputError(f"values[{index}]", problem, "remove it")
    if len(set(numbers)) < len(numbers):
        yield InputError("values", "a code is there twice", "remove one of the two")
    if numbers != sorted(numbers):
        yield InputError("values", "the codes are not in order", "sort them")


def success_policy_problems(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the policy for completed indices of a job."""
    policy = mapping(spec, "successPolicy")
    yield from _too_many("successPolicy.rules", sequence(policy, "rules"), _MOST_RULES)
    completions = 1 if is_left_out(spec, "completions") else number(spec, "completions")
    for path, rule in objects(policy, "rules"):
        yield from (error.at(path).at("successPolicy") for error in _success_rule(rule, completions))


def _success_rule(rule: Mapping[str, Any], completions: int | None) -> Iterator[InputError]:
    count, written = number(rule, "succeededCount"), rule.get("succeededIndexes")
    if is_left_out(rule, "succeededCount") and written is None:
        yield InputError("", "it asks for nothing", "write succeededCount or succeededIndexes")
    if completions is None:
        return
    most, what = completions, "completions"
    if isinstance(written, str):
        total = _count_of(written, completions)
        if total is None or len(written) > _LONGEST_INDEXES:
            problem = f"{described(written)} lists no indices below {completions} in order"
            yield InputError("succeededIndexes", problem, 'write indices such as "0,2-4"')
        elif total < most:
            most, what = total, "indices"
    if count is not None and count > most:
        yield InputError("succeededCount", f"{count} is more than the {what}, {most}", "write fewer")


def _count_of(written: str, completions: int) -> int | None:
    """Return how many indices *written* lists, ``None`` if it is no list of indices in order."""
    last, total = -1, 0
    for part in written.split(",") if written else ():
        match = _INTERVAL.fullmatch(part)
        if match is None:
            return None
        first = int(match[1])
        end = first if match[2] is None else int(match[2])
        if not last < first <= end < completions or (match[2] is not None and first == end):
            return None
        total += end - first + 1
        last = end
    return total
