"""The command ``extender``: serve plugins as an extender."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    from .._tls import ServerCertificate
    from ..embed.extender_server import PluginExtender

logger = logging.getLogger("schedframe.extender")


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

        certificate = _certificate(options)
        make = partial(PluginExtender, options.config, allow_imports=options.allow_import or [])
        if options.kubeconfig:
            from ..cluster.kubernetes import KubernetesCluster

            with KubernetesCluster.from_kubeconfig(options.kubeconfig) as cluster:
                _serve(make(cluster=cluster), options, certificate)
        else:
            _serve(make(), options, certificate)


def _certificate(options: ExtenderOptions) -> ServerCertificate | None:
    """Return the certificate for HTTPS; ``None`` for HTTP. Raises :class:`InputError`."""
    cert, key, client_ca = options.tls_cert_file, options.tls_private_key_file, options.client_ca_file
    if cert is None or key is None:
        if cert is key is client_ca is None:
            return None
        missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
        raise InputError(missing, "is not given", "HTTPS needs a certificate and its key")
    from .._tls import ServerCertificate  # loads ssl, 5 MB

    certificate = ServerCertificate(cert, key, client_ca)
    certificate.refresh()
    return certificate


@contextmanager
def _refreshed(certificate: ServerCertificate | None) -> Iterator[None]:
    """Read the files of the certificate again inside when they change, in a thread of its own."""
    if certificate is None:
        yield
        return
    from .._tls import REFRESH_SECONDS, CertificateWatch

    watch, has_ended = CertificateWatch(certificate.refresh, logger), threading.Event()

    def look() -> None:
        seconds = REFRESH_SECONDS
        while not has_ended.wait(seconds):
            seconds = watch.look()

    thread = threading.Thread(target=look, name="schedframe-certificate", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def _serve(plugins: PluginExtender, options: ExtenderOptions, certificate: ServerCertificate | None) -> None:
    from ..embed.extender_server import ExtenderServer

    tls = None if certificate is None else certificate.context
    address, port = options.address, options.port
    try:
        server = ExtenderServer(plugins, address, port, tls)
    except OSError as error:
        plugins.close()
        raise InputError("--port", f"cannot listen on {address}:{port}: {error.strerror}") from error
    try:
        note(f"listening on {server.scheme}://{address}:{server.server_port}")
        signals = handling({signal.SIGTERM: server.shutdown, signal.SIGINT: server.shutdown})
        with signals, _refreshed(certificate):
            server.serve_forever()
        note("ending")
    finally:
        server.server_close()
        plugins.close()
