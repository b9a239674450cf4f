"""First contact with an API server: wait until it answers, and say why if it never will."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ...errors import ClusterError
from .backoff import Backoff
from .client import ApiClient
from .errors import UNAUTHORIZED, ApiError, NoAnswer, SyncError, Unreachable
from .kubeconfig import Access
from .loop_time import loop_time
from .resources import offers_streams

logger = logging.getLogger("schedframe.kubernetes")

T = TypeVar("T")

REACH_SECONDS: Final = 5.0
"""Deadline of one attempt to reach the server at the beginning."""


async def reach(client: ApiClient, seconds: float) -> bool:
    """Wait until the server answers, and return whether it offers streaming lists.

    Raises :class:`SyncError` after *seconds*, and at once for what waiting does not mend.
    """
    access = client.access
    try:
        version = await persistently(
            lambda: client.request("GET", "/version", seconds=REACH_SECONDS), access, seconds
        )
    except ApiError as error:
        if error.status == UNAUTHORIZED:
            raise SyncError(f"the credentials of {access.source} are refused: {error}") from None
        return False  # it answers, if only to say that this is not for everyone
    return offers_streams(version)


async def persistently(ask: Callable[[], Awaitable[T]], access: Access, seconds: float) -> T:
    """Return what *ask* returns, repeating it while the server does not answer or is out of order.

    Raises :class:`SyncError` after *seconds*, and :class:`ApiError` for a refusal.
    """
    deadline, backoff, is_logged = loop_time() + seconds, Backoff(), False
    while True:
        try:
            return await ask()
        except ApiError as error:
            if not error.is_transient:
                raise
            failure: ClusterError = error
        except (Unreachable, NoAnswer) as error:
            failure = error
            if "certificate verify failed" in str(error).lower():
                raise SyncError(
                    f"the certificate of {access.server} is not trusted: {error}; put the right "
                    f"certificate-authority into {access.source}"
                ) from None
        if loop_time() > deadline:
            raise SyncError(f"{access.server} cannot be reached: {failure}") from None
        if not is_logged:
            logger.warning("%s cannot be reached, trying again: %s", access.server, failure)
            is_logged = True
        await asyncio.sleep(backoff.next(getattr(failure, "retry_after", None)))
