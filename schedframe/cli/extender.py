"""The command ``extender``: serve plugins as an extender."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from attrs import frozen

from ..errors import InputError
from . import exits
from .option_class import takes
from .signals import handling
from .terminal import note

if TYPE_CHECKING:
    import ssl

    from ..embed.extender_server import PluginExtender


@frozen(kw_only=True)
class ExtenderOptions:
    """Options of ``schedframe extender``."""

    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="KubeSchedulerConfiguration with the plugins.")
    ]
    address: Annotated[str, typer.Option(metavar="IP", help="Where to listen.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="0: any free port.")] = 8888
    kubeconfig: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Follow this cluster; without, nodes come with the requests."),
    ] = None
    allow_import: Annotated[
        list[str] | None,
        typer.Option(metavar="PREFIX", help="Follow import paths of plugins into this module or package."),
    ] = None
    tls_cert_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve HTTPS with this certificate.")
    ] = None
    tls_private_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key of the certificate.")
    ] = None
    client_ca_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve only clients that this authority signed.")
    ] = None


@takes(ExtenderOptions)
def extender(options: ExtenderOptions) -> None:
    """Serve plugins as an extender until SIGINT or SIGTERM.

    For a scheduler that is not this one: /filter, /prioritize, and with --kubeconfig /bind and /preempt.
    Without --kubeconfig plugins see the nodes of a request and no pods.
    """
    with exits.reporting():
        from ..embed.extender_server import PluginExtender

        tls = _tls(options)
        make = partial(PluginExtender, options.config, allow_imports=options.allow_import or [])
        if options.kubeconfig:
            from ..cluster.kubernetes import KubernetesCluster

            with KubernetesCluster.from_kubeconfig(options.kubeconfig) as cluster:
                _serve(make(cluster=cluster), options, tls)
        else:
            _serve(make(), options, tls)


def _tls(options: ExtenderOptions) -> ssl.SSLContext | None:
    """Return the settings for HTTPS; ``None`` for HTTP."""
    cert, key, client_ca = options.tls_cert_file, options.tls_private_key_file, options.client_ca_file
    if cert is None or key is None:
        if cert is key is client_ca is None:
            return None
        missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
        raise InputError(missing, "is not given", "HTTPS needs a certificate and its key")
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise InputError("--tls-cert-file", f"cannot be used: {error}") from error
    return context


def _serve(plugins: PluginExtender, options: ExtenderOptions, tls: ssl.SSLContext | None) -> None:
    from ..embed.extender_server import ExtenderServer

    address, port = options.address, options.port
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
