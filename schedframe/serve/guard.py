"""Layers around the pages: authorization, headers of every answer, requests that are refused, and faults."""

from __future__ import annotations

import logging
from collections.abc import Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from .._base.value import record
from ..errors import ClusterError
from .access import ANONYMOUS, AccessReviewer, Identity

logger = logging.getLogger("schedframe.serve")

_HEADERS: Final = [(b"cache-control", b"no-cache, private"), (b"x-content-type-options", b"nosniff")]
"""Headers of every answer: no proxy keeps it, and no browser takes text for anything else."""


@record(frozen=True)
class Surrounded:
    """Adds headers to every answer, refuses ambiguous requests, and answers 500 when what is inside fails."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        has_begun, app = False, refusal_of_framing(scope["headers"]) or self.app

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            await app(scope, receive, sending)
        except Exception:
            logger.exception("%s failed", _shown(scope))
            if not has_begun:  # when a page fails, Starlette answers before it passes the fault on
                await PlainTextResponse("Internal Server Error", 500)(scope, receive, sending)


@record(frozen=True)
class Guard:
    """Lets through what the reviewer allows, and paths that need no authorization.

    As in kube-scheduler, an invalid token is refused on every path.
    """

    app: ASGIApp
    reviewer: AccessReviewer
    always_allowed: tuple[str, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refusal = await self._refusal(Request(scope))
        await (self.app if refusal is None else refusal)(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that is not allowed; ``None`` if it is."""
        path, verb = request.scope["path"], request.method.lower()
        try:
            user = await self._user(request)
            if user is None:
                return _status(401, "Unauthorized", "Unauthorized", {"WWW-Authenticate": "Bearer"})
            if self._is_free(path) or await self.reviewer.may(user, verb, path):
                return None
        except ClusterError as error:
            logger.warning("%s is refused, as its review failed: %s", _shown(request.scope), error)
            return PlainTextResponse("the API server did not answer the review\n", 503)
        return _status(403, "Forbidden", f'forbidden: User "{user.name}" cannot {verb} path "{path}"')

    async def _user(self, request: Request) -> Identity | None:
        """Return who sends the request, anonymous without a token; ``None`` if the token is not valid."""
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return ANONYMOUS
        return await self.reviewer.authenticate(token)

    def _is_free(self, path: str) -> bool:
        return any(
            path == each or (each.endswith("*") and path.startswith(each[:-1]))
            for each in self.always_allowed
        )


def refusal_of_framing(headers: Iterable[tuple[bytes, bytes]]) -> Response | None:
    """Return the answer to a request whose body may end elsewhere for a proxy on the way, else ``None``.

    Another request could be hidden in its body. h11 refuses two lengths, but takes chunks beside a length.
    """
    names = {name for name, _ in headers}
    if names >= {b"content-length", b"transfer-encoding"}:
        text = "a request has a Content-Length or a Transfer-Encoding, not both\n"
        return PlainTextResponse(text, 400, {"Connection": "close"})
    return None


def _shown(scope: Scope) -> str:
    """Return the method and path of a request, quoted: a client must not write lines of the log."""
    return f"{scope['method']} {quote(scope['path'])}"


def _status(code: int, reason: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return a refusal in the form of the Kubernetes API."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return JSONResponse(status, code, headers)
