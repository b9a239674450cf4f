"""The command ``extender``: serve plugins as an extender."""

from __future__ import annotations

import signal
import threading
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.value import record
from ..errors import ClusterError, InputError
from . import exits
from .option_class import takes
from .output.terminal import note
from .run.signals import handling

if TYPE_CHECKING:
    from .._base.tls import ServerCertificate
    from ..serve.plugin_extender import PluginExtender

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@record(frozen=True, kw_only=True)
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


@app.command(epilog=exits.OTHER_CODES)
@takes(ExtenderOptions)
def extender(options: ExtenderOptions) -> None:
    """Serve plugins as an extender until SIGINT or SIGTERM.

    For a scheduler that is not this one: /filter, /prioritize, and with --kubeconfig /bind and /preempt.
    Without --kubeconfig plugins see the nodes of a request and no pods.
    """
    with exits.reporting():
        _check_extra()
        from ..serve.plugin_extender import PluginExtender

        certificate = _certificate(options)
        make = partial(PluginExtender, options.config, allow_imports=options.allow_import or [])
        if options.kubeconfig:
            from ..cluster.kubernetes import KubernetesCluster

            with KubernetesCluster.from_kubeconfig(options.kubeconfig) as cluster:
                _serve(make(cluster=cluster), options, certificate)
        else:
            _serve(make(), options, certificate)


def _check_extra() -> None:
    """Raise :class:`InputError` with the fix unless the extra ``serve`` is installed."""
    try:
        import_module("schedframe.serve")
    except ModuleNotFoundError as error:
        raise InputError("", str(error)) from None


def _certificate(options: ExtenderOptions) -> ServerCertificate | None:
    """Return the certificate for HTTPS; ``None`` for HTTP. Raises :class:`InputError`."""
    cert, key, client_ca = options.tls_cert_file, options.tls_private_key_file, options.client_ca_file
    if cert is None or key is None:
        if cert is key is client_ca is None:
            return None
        missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
        raise InputError(missing, "is not given", "HTTPS needs a certificate and its key")
    from .._base.tls import ServerCertificate  # loads ssl, 5 MB

    certificate = ServerCertificate(cert, key, client_ca)
    certificate.refresh()
    return certificate


def _serve(plugins: PluginExtender, options: ExtenderOptions, certificate: ServerCertificate | None) -> None:
    from ..serve import HttpServer, Listener
    from ..serve.extender import extender_application

    tls, refresh = (None, None) if certificate is None else (certificate.context, certificate.refresh)
    server = HttpServer(extender_application(plugins), Listener(options.address, options.port, tls), refresh)
    has_ended = threading.Event()
    try:
        try:
            server.start()
        except ClusterError as error:
            raise InputError("--port", str(error)) from error
        note(f"listening on {server.url}")
        with handling({signal.SIGTERM: has_ended.set, signal.SIGINT: has_ended.set}):
            has_ended.wait()
        note("ending")
    finally:
        server.close()
        plugins.close()
