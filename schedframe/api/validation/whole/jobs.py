"""Jobs and cron jobs.

Source of the rules: pkg/apis/batch/validation, after defaulting and after ``generateSelector`` of
pkg/registry/batch/job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_key, check_name
from .job_policies import failure_policy_problems, success_policy_problems
from .reading import is_left_out, mapping, number, text
from .schedules import schedule_problem, zone_problem
from .selecting import match_problems

INDEXED: Final = "Indexed"

_MOST_PARALLEL: Final = 100_000
_MANY: Final = 100_000
"""Completions above which a job with limits for each index may do less at a time."""
_MOST_PARALLEL_OF_MANY: Final = 10_000
_LONGEST_MANAGER: Final = 63
_LONGEST_CRON_JOB: Final = 52
"""The names of its jobs have eleven characters more, and at most 63."""
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


def check_job(manifest: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a job: its selector, which is made for it, and the names of its pods."""
    spec, name = mapping(manifest, "spec"), text(mapping(manifest, "metadata"), "name")
    yield from (error.at("spec") for error in _selection(spec, name))
    is_counted = is_left_out(spec, "completions") and is_left_out(spec, "parallelism")
    completions = 1 if is_counted else number(spec, "completions")
    if text(spec, "completionMode") != INDEXED:
        return
    if completions is None and is_left_out(spec, "completions"):
        yield _no_completions().at("spec")
    if name and completions and completions > 0 and check_name(name, label=False) is None:
        host = f"{name}-{completions - 1}"
        if (error := check_name(host, label=True)) is not None:
            problem = f"the last pod would have the host name {described(host)}, which is none"
            yield InputError("metadata.name", problem, error.fix)


def _no_completions() -> InputError:
    problem = "is missing, and an indexed job has as many indices"
    return InputError("completions", problem, "write their number, or leave parallelism out, too")


def _selection(spec: Mapping[str, Any], name: str) -> Iterator[InputError]:
    selector, template = spec.get("selector"), mapping(spec, "template")
    if spec.get("manualSelector") is True:
        if selector is None:
            yield InputError("selector", "manualSelector is true, and there is none", "write it")
        elif isinstance(selector, Mapping) and not is_left_out(spec, "template"):
            yield from match_problems(selector, template)
        return
    if isinstance(selector, Mapping) and (selector.get("matchLabels") or selector.get("matchExpressions")):
        fix = "leave it out, or write manualSelector: true"
        yield InputError("selector", "the selector of a job is made for it", fix)
    labels = mapping(mapping(template, "metadata"), "labels")
    for key in (*_NAME_LABELS, *_UID_LABELS):
        if key in labels and (key in _UID_LABELS or (name and labels[key] != name)):
            problem = f"the label {key} is made for the pods of a job"
            yield InputError("template.metadata.labels", problem, "leave it out")


def check_job_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a job over several fields."""
    yield from _indices(spec)
    yield from _manager(spec)
    yield from failure_policy_problems(spec)
    yield from success_policy_problems(spec)
    policy = text(mapping(mapping(spec, "template"), "spec"), "restartPolicy")
    if policy == "Always":
        path, problem = "template.spec.restartPolicy", "pods of a job end, and Always restarts them"
        yield InputError(path, problem, "write OnFailure or Never")


def _manager(spec: Mapping[str, Any]) -> Iterator[InputError]:
    manager = spec.get("managedBy")
    if not isinstance(manager, str):
        return
    if "/" not in manager or check_label_key(manager.lower(), may_be_empty=False) is not None:
        problem, fix = f"{described(manager)} is no name with a domain", "write one such as example.com/jobs"
        yield InputError("managedBy", problem, fix)
    if len(manager) > _LONGEST_MANAGER:
        problem = f"the name has {len(manager)} characters"
        yield InputError("managedBy", problem, f"use at most {_LONGEST_MANAGER}")


def _indices(spec: Mapping[str, Any]) -> Iterator[InputError]:
    per_index, failed = number(spec, "backoffLimitPerIndex"), number(spec, "maxFailedIndexes")
    if failed is not None and is_left_out(spec, "backoffLimitPerIndex"):
        yield InputError("backoffLimitPerIndex", "is missing, and maxFailedIndexes needs it", "write it")
    if text(spec, "completionMode") == INDEXED:
        yield from _indexed(spec, per_index, failed)
    elif is_left_out(spec, "completionMode") or text(spec, "completionMode") == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if not is_left_out(spec, key):
                yield InputError(key, "it is for indexed jobs", f"write completionMode: {INDEXED}")


def _indexed(spec: Mapping[str, Any], per_index: int | None, failed: int | None) -> Iterator[InputError]:
    completions, parallel = number(spec, "completions"), number(spec, "parallelism")
    many = per_index is not None and completions is not None and completions > _MANY
    most = _MOST_PARALLEL_OF_MANY if many else _MOST_PARALLEL
    if parallel is not None and parallel > most:
        yield InputError("parallelism", f"{parallel} is more than {most}", f"write {most} or less")
    if failed is None:
        if many:
            problem = f"is missing, and there are more than {_MANY} completions"
            yield InputError("maxFailedIndexes", problem, f"write a number of at most {most}")
        return
    most = min(most, _MOST_PARALLEL if completions is None else completions)
    if failed > most:
        yield InputError("maxFailedIndexes", f"{failed} is more than {most}", f"write {most} or less")


def check_cron_job(manifest: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of a name that is too long for the jobs of a cron job."""
    name = text(mapping(manifest, "metadata"), "name")
    if len(name) > _LONGEST_CRON_JOB:
        problem = f"the name has {len(name)} characters, and the names of its jobs 11 more"
        yield InputError("metadata.name", problem, f"use at most {_LONGEST_CRON_JOB}")


def check_cron_job_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a cron job."""
    schedule, zone = text(spec, "schedule"), spec.get("timeZone")
    if schedule and (error := schedule_problem(schedule)) is not None:
        yield error.at("schedule")
    if isinstance(zone, str) and (error := zone_problem(zone)) is not None:
        yield error.at("timeZone")


def check_job_template(template: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the template of jobs: it gets no defaults, and each job gets its selector."""
    spec = mapping(template, "spec")
    if not is_left_out(spec, "selector"):
        yield InputError("spec.selector", "the selector of a job is made for it", "leave it out")
    if spec.get("manualSelector") is True:
        problem = "the selector of each job is made for it"
        yield InputError("spec.manualSelector", problem, "leave it out")
    if text(spec, "completionMode") == INDEXED and is_left_out(spec, "completions"):
        yield _no_completions().at("spec")
