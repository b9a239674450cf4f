"""The command ``extender``: serve plugins as an extender."""

from __future__ import annotations

import signal
import ssl
from functools import partial
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
    allow_import: Annotated[
        list[str] | None,
        typer.Option(metavar="PREFIX", help="Follow import paths of plugins into this module or package."),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option("--tls-cert-file", metavar="FILE", help="Serve HTTPS with this certificate."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--tls-private-key-file", metavar="FILE", help="Key of the certificate.")
    ] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(
            "--client-ca-file", metavar="FILE", help="Serve only clients that this authority signed."
        ),
    ] = None,
) -> None:
    """Serve plugins as an extender until SIGINT or SIGTERM.

    For a scheduler that is not this one: /filter, /prioritize, and with --kubeconfig /bind and /preempt.
    Without --kubeconfig plugins see the nodes of a request and no pods.
    """
    with exits.reporting():
        from ..embed.extender_server import PluginExtender

        tls = _tls(cert, key, client_ca)
        make = partial(PluginExtender, config, allow_imports=allow_import or [])
        if kubeconfig:
            from ..cluster.kubernetes import KubernetesCluster

            with KubernetesCluster.from_kubeconfig(kubeconfig) as cluster:
                _serve(make(cluster=cluster), address, port, tls)
        else:
            _serve(make(), address, port, tls)


def _tls(cert: Path | None, key: Path | None, client_ca: Path | None) -> ssl.SSLContext | None:
    """Return the settings for HTTPS; ``None`` for HTTP."""
    if (cert is None) != (key is None):
        missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
        raise InputError(missing, "is not given", "give a certificate and its key, or neither")
    if cert is None:
        if client_ca is not None:
            raise InputError(
                "--client-ca-file", "needs HTTPS", "give --tls-cert-file and --tls-private-key-file"
            )
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise InputError("--tls-cert-file", f"cannot be used: {error}") from error
    return context


def _serve(plugins: PluginExtender, address: str, port: int, tls: ssl.SSLContext | None) -> None:
    from ..embed.extender_server import ExtenderServer

    try:
        server = ExtenderServer(plugins, address, port, tls)
    except OSError as error:
        plugins.close()
        raise InputError("--port", f"cannot listen on {address}:{port}: {error.strerror}") from error
    try:
        note(f"listening on {server.scheme}://{address}:{server.server_port}")
        with handling({signal.SIGTERM: server.shutdown, signal.SIGINT: server.shutdown}):
            server.serve_forever()
        note("ending")
    finally:
        server.server_close()
        plugins.close()
