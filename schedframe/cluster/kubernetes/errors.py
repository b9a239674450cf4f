"""Failures of requests to the API server, by what is known about their effect."""

from __future__ import annotations

from typing import Final

from ...errors import ClusterError
from ..port import OutcomeUnknown

TOO_MANY_REQUESTS: Final = 429
GONE: Final = 410
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
CONFLICT: Final = 409
INVALID: Final = 422
FORBIDDEN: Final = 403
UNAUTHORIZED: Final = 401
SERVICE_UNAVAILABLE: Final = 503
SERVER_ERROR: Final = 500
"""Codes from here on are failures of the server."""


_WEBHOOK_FAILED: Final = "failed calling webhook"
"""Part of the message of the API server when an admission webhook does not answer as it should."""


class Unreachable(ClusterError):
    """No connection could be made, so nothing was sent."""


class NotLeading(ClusterError):
    """Another replica may hold the lease, so nothing was sent."""


class NoAnswer(OutcomeUnknown):
    """The connection broke, or the deadline passed, before the answer: the request may have taken effect."""

    def __init__(self, message: str, *, is_quiet: bool = False) -> None:
        super().__init__(message)
        self.is_quiet = is_quiet
        """Whether a stream merely carried nothing for as long as it may."""


class ApiError(ClusterError):
    """An answer that is no success. ``status`` is the HTTP code, ``reason`` that of the server."""

    def __init__(
        self, request: str, status: int, reason: str, message: str, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        """Seconds that the server asks to wait, ``None`` if it does not say."""

    @property
    def is_refusal(self) -> bool:
        """Return whether the request certainly had no effect.

        A 5xx may come from a proxy, or after the write; but webhooks are called before it.
        """
        return self.status < SERVER_ERROR or _WEBHOOK_FAILED in self.message

    @property
    def is_transient(self) -> bool:
        """Return whether the same request may succeed a moment later."""
        return self.status == TOO_MANY_REQUESTS or self.status >= SERVER_ERROR


class CredentialsError(ClusterError):
    """The kubeconfig, or the credentials that it names, cannot be used. The message names the fix."""


class SyncError(ClusterError):
    """The present state of the cluster could not be read."""


def is_without_effect(error: ClusterError) -> bool:
    """Return whether the request that raised *error* certainly was not carried out."""
    return isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.is_refusal)
