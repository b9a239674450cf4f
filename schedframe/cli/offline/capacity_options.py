"""The options of ``schedframe capacity`` and ``schedframe compare``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..._base.value import record
from ..options import STDIN
from ..output.forms import AnswerForm
from .options import (
    ClusterOptions,
    ConfigFile,
    Files,
    check_files,
)

Output = Annotated[AnswerForm, typer.Option("--output", "-o", help="How the answer is written.")]
After = Annotated[
    bool, typer.Option("--after/--as-it-is", help="First place the pods that wait, as schedule does.")
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME… FILE…",
        help="Names, then manifests: what is a file or a folder, or -, is read; the others are names.",
    ),
]


@record(frozen=True, kw_only=True)
class AnswerOptions(ClusterOptions):
    """A question about a cluster, with an answer in one of several forms."""

    output: Output = AnswerForm.TABLE


@record(frozen=True, kw_only=True)
class QuestionOptions(AnswerOptions):
    """A question about the room in one cluster, under one configuration."""

    config: ConfigFile = None
    after: After = True


@record(frozen=True, kw_only=True)
class NamingOptions(QuestionOptions):
    """A question about what is named."""

    words: Names = None

    @property
    def files(self) -> list[str]:
        """The words that are files or folders, or standard input."""
        return [word for word in self.words or () if _is_file(word)]

    @property
    def names(self) -> list[str]:
        """The words that are no files."""
        return [word for word in self.words or () if not _is_file(word)]

    def check(self, what: str) -> None:
        """Raise an error of usage if something is missing; *what* is to be named."""
        check_files(self.files, self.live)
        if not self.names:
            raise typer.BadParameter(f"name {what}; what is a file or a folder is read")


def _is_file(word: str) -> bool:
    return word in ("", STDIN) or os.path.exists(word)


def _mix(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if not name or not share.isdecimal() or int(share) < 1 or name in found:
            raise typer.BadParameter(f"--mix {text}: write each name once with a number from 1: web=3,db=1")
        found[name] = int(share)
    return found


@record(frozen=True, kw_only=True)
class FitOptions(NamingOptions):
    """The options of ``schedframe capacity fit``."""

    mix: Annotated[
        str | None,
        typer.Option("--mix", metavar="NAME=N,…", help="How many of each in a round, such as web=3,db=1."),
    ] = None
    most: Annotated[int | None, typer.Option("--max", metavar="N", min=0, help="Rounds at most.")] = None
    preempt: Annotated[bool, typer.Option("--preempt", help="Let them make room for themselves.")] = False
    require: Annotated[
        int | None, typer.Option("--require", metavar="N", min=0, help="Exit with 1 if fewer rounds fit.")
    ] = None

    @property
    def shares(self) -> dict[str, int] | None:
        """Name → how many in a round; ``None`` without a mix. Raises an error of usage."""
        return _mix(self.mix)

    @property
    def asked(self) -> list[str]:
        """Return the names of what is to be placed, or those of the mix."""
        return self.names or list(self.shares or ())

    def check(self, what: str = "a pod, or a workload such as deployment/web") -> None:
        """Raise an error of usage if something is missing."""
        check_files(self.files, self.live)
        if not self.asked:
            raise typer.BadParameter(f"name {what}; what is a file or a folder is read")


@record(frozen=True, kw_only=True)
class LossOptions(QuestionOptions):
    """The options of ``schedframe capacity loss``."""

    files: Files = None
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="node|LABEL", help="What is lost together: single nodes, or all of one value."
        ),
    ] = "node"

    def check(self) -> None:
        """Raise an error of usage if something is missing."""
        check_files(self.files, self.live)


@record(frozen=True, kw_only=True)
class DrainOptions(NamingOptions):
    """The options of ``schedframe capacity drain``."""

    force: Annotated[
        bool, typer.Option("--force", help="Delete pods without a controller, for good, as kubectl does.")
    ] = False
    delete_emptydir_data: Annotated[
        bool, typer.Option("--delete-emptydir-data", help="Give up what is in emptyDir volumes.")
    ] = False


@record(frozen=True, kw_only=True)
class CompareOptions(AnswerOptions):
    """The options of ``schedframe compare``."""

    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B | FILE…",
            help="Folders of two runs, or of runs, one for each seed; with --config: manifests.",
        ),
    ] = None
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config", metavar="FILE", help="Given twice: compare what these configurations make of FILEs."
        ),
    ] = None
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Of runs: fail if it holds, such as 'wait_p99 > 1.05x'. Repeatable.",
        ),
    ] = None
    pods: Annotated[
        int, typer.Option("--pods", metavar="N", min=0, help="Pods that differ, to be listed.")
    ] = 10

    def check(self) -> None:
        """Raise an error of usage if something is missing, or does not go together."""
        if self.config is None:
            if len(self.words or ()) != 2:
                raise typer.BadParameter("name two runs, or two configurations by --config and manifests")
            return
        if len({str(each) for each in self.config}) != 2:
            raise typer.BadParameter("give --config twice, with a file each")
        if self.fail_if is not None:
            raise typer.BadParameter("--fail-if is about runs, which have no --config")
        check_files(self.words, self.live)
