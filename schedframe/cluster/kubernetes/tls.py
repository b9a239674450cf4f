"""Settings of TLS for connections to the API server, from the kubeconfig."""

from __future__ import annotations

import logging
import ssl

from ..._base.tls import client_context, load_pair
from .credentials import ClientCertificate
from .errors import CredentialsError
from .kubeconfig import Access

logger = logging.getLogger("schedframe.kubernetes")


def tls_context(access: Access, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return what verifies the server, and proves who the client is: *certificate*, or that of *access*.

    Raises :class:`CredentialsError` for what cannot be used.
    """
    try:
        return _tls_context(access, certificate)
    except ssl.SSLError as error:
        raise CredentialsError(
            f"{access.source}: certificate-authority, client-certificate or client-key "
            f"cannot be used: {error}"
        ) from None


def _tls_context(access: Access, certificate: ClientCertificate | None) -> ssl.SSLContext:
    context = client_context(access.ca_data)
    if access.insecure:
        logger.warning(
            "%s says insecure-skip-tls-verify: the certificate of %s is not verified, so a proxy on the way "
            "can read and change what is sent; put its certificate-authority into the kubeconfig",
            access.source,
            access.server,
        )
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is None and access.client_cert is not None and access.client_key is not None:
        certificate = ClientCertificate(access.client_cert, access.client_key)
    if certificate is not None:
        load_pair(context, certificate.certificate, certificate.key)
    return context
