"""One operation of a workload file, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field

from ..._base.value import record
from ...errors import InputError
from ..bench_run import BenchRun
from .definitions import Fields, Workload
from .files import ObjectTemplate


@record(eq=False)
class TemplateFiles:
    """The object templates of one workload; each file is read once."""

    workload: Workload
    _templates: dict[str, ObjectTemplate] = field(factory=dict, init=False)

    def get(self, path: str) -> ObjectTemplate:
        """Return the template in *path*, relative to the workload's folder. Raises :class:`InputError`."""
        template = self._templates.get(path)
        if template is None:
            template = self._templates[path] = ObjectTemplate.read(self.workload.folder / path)
        return template

    def default_pod(self) -> ObjectTemplate | None:
        """Return the pod template of the test case; ``None`` if it names none. Raises :class:`InputError`."""
        path = self.workload.default_pod_template
        return None if path is None else self.get(path)


@record(frozen=True)
class Step:
    """The members of one operation, with what its function needs besides the run."""

    fields: Fields
    number: int
    """Position in the workload, from 0."""
    templates: TemplateFiles
    plugins: frozenset[str]
    """Names of the installed plugins."""

    @property
    def namespace(self) -> str:
        """The namespace that the operation names, else one of its own."""
        return self.fields.text("namespace") or f"namespace-{self.number}"

    def template(self, member: str) -> ObjectTemplate:
        """Return the template file that *member* names. Raises :class:`InputError`."""
        return self.templates.get(self.fields.required(member))

    def optional_template(self, member: str) -> ObjectTemplate | None:
        """Return the template file that *member* names; ``None`` without that member."""
        path = self.fields.text(member)
        return None if path is None else self.templates.get(path)


StepFunction = Callable[[BenchRun, Step], None]


@record(frozen=True)
class FileOperation:
    """An operation of a workload file, as an operation of the runner."""

    step: Step
    functions: Mapping[str, StepFunction]
    """By opcode."""

    def run(self, bench: BenchRun) -> None:
        """Carry out the step. Raises :class:`InputError` for an unknown opcode and wrong members."""
        fields = self.step.fields
        opcode = fields.required("opcode")
        bench.fixture.progress(opcode)
        function = self.functions.get(opcode)
        if function is None:
            known = ", ".join(self.functions)
            raise InputError(f"{fields.path}.opcode", f"{opcode} is unknown", f"known are {known}")
        function(bench, self.step)
