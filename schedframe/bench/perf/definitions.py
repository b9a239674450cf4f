"""The files of scheduler_perf: test cases, their workloads, and the members of operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._base.value import record
from ...api.documents import first_document
from ...api.paths import located
from ...config import Duration
from ...errors import InputError, InputErrors

Data = Mapping[str, Any]


@record(frozen=True)
class Workload:
    """One workload of a test case."""

    test: str
    name: str
    labels: frozenset[str]
    feature_gates: Mapping[str, bool]
    """Feature gates of the test case and of the workload, which has precedence."""
    threshold: float | None
    """Pods per second that the file requires."""
    params: Data
    template: Sequence[Data]
    """Operations as in the file, with references to parameters."""
    default_pod_template: str | None
    scheduler_config: str | None
    folder: Path
    """Paths of templates are relative to this folder."""

    @property
    def full_name(self) -> str:
        """``TEST/WORKLOAD``."""
        return f"{self.test}/{self.name}"


def load_workloads(file: Path) -> list[Workload]:
    """Return all workloads of *file* in its order. Raises :class:`InputError` if it cannot be read."""
    cases = read_yaml(file)
    if not isinstance(cases, list):
        raise InputError(
            "", "expected a list of test cases", "give a file of scheduler_perf", location=str(file)
        )
    workloads = []
    for number, case in enumerate(cases):
        if not isinstance(case, Mapping) or "workloadTemplate" not in case:
            raise InputError(
                f"[{number}]", "is no test case", "give it a workloadTemplate", location=str(file)
            )
        workloads += [_workload(case, workload, file.parent) for workload in case.get("workloads") or ()]
    return workloads


def _workload(case: Data, workload: Data, folder: Path) -> Workload:
    threshold = workload.get("threshold")
    if isinstance(threshold, Mapping):
        threshold = next(iter(threshold.values()), None)
    return Workload(
        test=str(case["name"]),
        name=str(workload["name"]),
        labels=frozenset([*(case.get("labels") or ()), *(workload.get("labels") or ())]),
        feature_gates={**(case.get("featureGates") or {}), **(workload.get("featureGates") or {})},
        threshold=float(threshold) if threshold else None,
        params=workload.get("params") or {},
        template=case["workloadTemplate"],
        default_pod_template=case.get("defaultPodTemplatePath"),
        scheduler_config=case.get("schedulerConfigPath"),
        folder=folder,
    )


def select(workloads: Iterable[Workload], name: str | None, label: str | None) -> list[Workload]:
    """Return the workloads with *name* (``TEST`` or ``TEST/WORKLOAD``) and *label*; ``None`` selects all.

    Raises :class:`InputError` if there is none.
    """
    candidates = list(workloads)
    selected = [
        each
        for each in candidates
        if (name is None or name in (each.test, each.full_name)) and (label is None or label in each.labels)
    ]
    if not candidates:
        raise InputError("workloads", "the file has none", "give a file of scheduler_perf")
    if not selected:
        names = ", ".join(each.full_name for each in candidates)
        wanted = " with ".join(part for part in (name, f"label {label}" if label else None) if part)
        raise InputError(
            "--name" if name is not None else "--label",
            f"there is no workload {wanted}",
            f"use one of {names}",
        )
    return selected


def read_yaml(file: Path, text: str | None = None) -> Any:
    """Return the data of a YAML file, or of *text* that was made from it. Raises :class:`InputError`."""
    document = first_document(read_text(file) if text is None else text, str(file))
    if document.mistakes:
        raise InputErrors.of(each.error(0, located(str(file), each.line)) for each in document.mistakes)
    return document.value


def read_text(file: Path) -> str:
    """Return the text of a file. Raises :class:`InputError`."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(file), f"cannot be read: {error}", "give a file that can") from error


@record(frozen=True)
class Fields:
    """The members of one operation. Parameters are substituted; wrong types are errors with their path."""

    data: Data
    params: Data
    path: str

    def text(self, name: str) -> str | None:
        """Return a string; ``None`` without that member."""
        value = self.data.get(name)
        return None if value is None else str(value)

    def required(self, name: str) -> str:
        """Return a string. Raises :class:`InputError` without that member."""
        value = self.text(name)
        if value is None:
            raise InputError(f"{self.path}.{name}", "is missing", "the operation needs it")
        return value

    def parameter(self, name: str) -> str:
        """Return the string of *name* or of the parameter in ``nameParam``.

        Raises :class:`InputError` without either.
        """
        value = self._value(name, None)
        if value is None:
            raise InputError(f"{self.path}.{name}", "is missing", "the operation needs it")
        return str(value)

    def flag(self, name: str) -> bool:
        """Return the boolean of *name* or of the parameter in ``nameParam``; False without either."""
        return bool(self._value(name, False))

    def number(self, name: str, default: int = 0) -> int:
        """Return the count of *name* or of the parameter in ``nameParam``. Raises :class:`InputError`."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise InputError(f"{self.path}.{name}", f"{value!r} is no count", "give a number from 0")
        return int(value)

    def seconds(self, name: str, duration: str) -> float:
        """Return *duration*, the value of member *name*, in seconds. Raises :class:`InputError`."""
        try:
            return float(Duration.parse(duration).seconds)
        except ValueError as error:
            raise InputError(
                f"{self.path}.{name}", f"{duration!r} is no duration", "write one such as 10s or 1m30s"
            ) from error

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; empty without that member."""
        return tuple(map(str, self.data.get(name) or ()))

    def mapping(self, name: str) -> dict[str, Any]:
        """Return a mapping; empty without that member. Raises :class:`InputError`."""
        value = self.data.get(name) or {}
        if not isinstance(value, Mapping):
            raise InputError(f"{self.path}.{name}", f"expected a mapping, got {value!r}", "give members")
        return dict(value)

    def nested(self, name: str) -> Fields:
        """Return the members of the operation in member *name*."""
        return Fields(self.mapping(name), self.params, f"{self.path}.{name}")

    def _value(self, name: str, default: Any) -> Any:
        parameter = self.data.get(f"{name}Param")
        if parameter is None:
            value = self.data.get(name)
            return default if value is None else value
        key = str(parameter).removeprefix("$")
        if key not in self.params:
            raise InputError(
                f"{self.path}.{name}Param",
                f"there is no parameter {key}",
                f"use one of {', '.join(self.params)}" if self.params else "the workload has no parameters",
            )
        return self.params[key]
