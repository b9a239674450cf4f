"""The commands about a real cluster: ``run`` and ``snapshot``."""

from __future__ import annotations

import typer

from .. import exits
from ..garbage import collection_postponed
from ..offline.live import check_extra
from ..offline.snapshot_options import SnapshotOptions
from ..option_class import takes
from ..output.grouped_help import GroupedCommand
from .options import RunOptions

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=GroupedCommand, epilog=exits.CODES)
@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Schedule the pods of a real cluster, until SIGTERM or SIGINT. Exit code 0 then.

    A second signal ends the process at once.
    """
    with exits.reporting(), collection_postponed():
        check_extra("run")
        from .run import run as run_scheduler

        run_scheduler(options)


@app.command(epilog=exits.OTHER_CODES)
@takes(SnapshotOptions)
def snapshot(options: SnapshotOptions) -> None:
    """Write what scheduling reads of a real cluster as manifests, which every other command accepts.

    Of each object only the fields that scheduling reads are in it, so no environment variables, commands, or
    parameters of storage. Of annotations: those that enabled plugins declare, and --keep-annotation. Names,
    labels, images, addresses of host ports, identities of disks and attributes of devices are read and in it.

    --anonymize replaces all of these by hashes in the order of the originals, so that decisions stay.
    What stays: amounts, numbers, times and sizes, and what Kubernetes itself defines, which is enumerations,
    keys of labels and taints, namespaces, native resources, in-tree drivers. Keys of kept annotations and
    names of plugins stay, too. A selector of devices (CEL) is replaced by the devices that it selects.
    """
    with exits.reporting():
        check_extra("snapshot")
        from ..offline.snapshot import take_snapshot

        take_snapshot(options)
