"""Settings of TLS that all clients share."""

from __future__ import annotations

import ssl


def client_context(authorities: str | None = None) -> ssl.SSLContext:
    """Return what verifies a server by *authorities* (PEM certificates), ``None``: by those of the system.

    The rules are those of Go's clients, such as kubectl, on every version of Python: the common name of a
    certificate does not count, and a certificate may lack extensions that Python 3.13 asks for by default
    (key usage, authority key identifier). Raises ``ssl.SSLError`` for certificates that cannot be used.
    """
    context = ssl.create_default_context(cadata=authorities)
    context.hostname_checks_common_name = False
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
