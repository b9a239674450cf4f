"""The command ``extender``: serve plugins as an extender."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from . import exits
from .signals import handling
from .terminal import note

if TYPE_CHECKING:
    from ..embed.extender_server import PluginExtender


def extender(
    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="KubeSchedulerConfiguration with the plugins.")
    ],
    address: Annotated[str, typer.Option(metavar="IP", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="0: any free port.")] = 8888,
    kubeconfig: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Follow this cluster; without, nodes come with the requests."),
    ] = None,
) -> None:
    """Serve plugins as an extender, at /filter and /prioritize, until SIGINT or SIGTERM.

    For a scheduler that is not this one. Without --kubeconfig plugins see the nodes of a request and no pods.
    """
    with exits.reporting():
        from ..embed.extender_server import PluginExtender

        if kubeconfig:
            from ..cluster.kubernetes import KubernetesCluster

            with KubernetesCluster.from_kubeconfig(kubeconfig) as cluster:
                _serve(PluginExtender(config, cluster), address, port)
        else:
            _serve(PluginExtender(config), address, port)


def _serve(plugins: PluginExtender, address: str, port: int) -> None:
    from ..embed.extender_server import ExtenderServer

    try:
        server = ExtenderServer(plugins, address, port)
    except OSError as error:
        plugins.close()
        raise InputError("--port", f"cannot listen on {address}:{port}: {error.strerror}") from error
    try:
        note(f"listening on http://{address}:{server.server_port}")
        with handling({signal.SIGTERM: server.shutdown, signal.SIGINT: server.shutdown}):
            server.serve_forever()
        note("ending")
    finally:
        server.server_close()
        plugins.close()
