"""The pages of the server, as an ASGI application of Starlette."""

from __future__ import annotations

import json
import platform
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from attrs import field, frozen
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .._version import __version__
from ..cycle.inspection import CoreBusy
from ..errors import ClusterError
from .access import ANONYMOUS, AccessReviewer
from .checks import Answer, HealthChecks
from .profiling import profile, threads

EMULATED: Final = ("1", "36")
"""Version of kube-scheduler that the behaviour is that of."""
EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"
ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")
"""Paths that need no authorization by default; ``/*`` at the end of one admits all below it."""


@frozen(kw_only=True)
class Endpoints:
    """What the pages show. The functions are called in any thread; without one its page is absent."""

    checks: HealthChecks = field(factory=HealthChecks)
    metrics: Callable[[], bytes] | None = None
    """Text for Prometheus, of any registry."""
    pod_resources: Callable[[], bytes] | None = None
    """Requests and limits of pods, as ``/metrics/resources``."""
    config: Callable[[], Mapping[str, Any]] | None = None
    """The effective configuration."""
    cache: Callable[[], Any] | None = None
    queue: Callable[[], Any] | None = None
    comparison: Callable[[], Any] | None = None
    profiling: bool = False
    """Whether ``/debug/profile`` and ``/debug/threads`` are there."""


def application(
    endpoints: Endpoints,
    reviewer: AccessReviewer | None = None,
    always_allowed: tuple[str, ...] = ALWAYS_ALLOWED,
) -> Any:
    """Return the ASGI application; without a *reviewer* all requests are answered."""
    app = Starlette(routes=_routes(endpoints))
    return app if reviewer is None else _Guard(app, reviewer, always_allowed)


def _routes(endpoints: Endpoints) -> list[Route]:
    routes = [Route("/version", _version)]
    for name in ("healthz", "livez", "readyz"):
        routes += _health_routes(endpoints.checks, name)
    if endpoints.metrics is not None:
        routes.append(Route("/metrics", _text(endpoints.metrics)))
    if endpoints.pod_resources is not None:
        routes.append(Route("/metrics/resources", _text(endpoints.pod_resources)))
    pages = {
        "/configz": endpoints.config,
        "/debug/cache": endpoints.cache,
        "/debug/queue": endpoints.queue,
        "/debug/compare": endpoints.comparison,
    }
    routes += [Route(path, _json(value)) for path, value in pages.items() if value is not None]
    if endpoints.profiling:
        routes += [Route("/debug/profile", profile), Route("/debug/threads", threads)]
    routes.insert(0, Route("/", _index(sorted(each.path for each in routes if "{" not in each.path))))
    return routes


# Plain functions: Starlette runs them in threads, so that a slow answer delays no other one.


def _health_routes(checks: HealthChecks, name: str) -> list[Route]:
    def all_checks(request: Request) -> Response:
        query = request.query_params
        return _health(
            checks.answer(name, verbose="verbose" in query, excluded=frozenset(query.getlist("exclude")))
        )

    def one_check(request: Request) -> Response:
        answer = checks.single(name, request.path_params["check"])
        return PlainTextResponse("no such check\n", 404) if answer is None else _health(answer)

    return [Route(f"/{name}", all_checks), Route(f"/{name}/{{check}}", one_check)]


def _health(answer: Answer) -> Response:
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return PlainTextResponse(answer.text, 200 if answer.is_ok else 500, headers)


def _text(value: Callable[[], bytes]) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        return Response(value(), headers={"Content-Type": EXPOSITION})

    return page


def _json(value: Callable[[], Any]) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        try:
            return Response(json.dumps(value(), default=str, indent=1), media_type="application/json")
        except CoreBusy as error:
            return PlainTextResponse(f"{error}\n", 503)

    return page


def _version(request: Request) -> Response:
    return JSONResponse(
        {
            "major": EMULATED[0],
            "minor": EMULATED[1],
            "gitVersion": f"schedframe-{__version__}",
            "pythonVersion": platform.python_version(),
            "platform": f"{platform.system().lower()}/{platform.machine()}",
        }
    )


def _index(paths: list[str]) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        return JSONResponse({"paths": paths})

    return page


@frozen
class _Guard:
    """Lets through what the reviewer allows, and the paths that need no review."""

    app: Any
    reviewer: AccessReviewer
    always_allowed: tuple[str, ...]

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        refusal = None if self._is_free(scope["path"]) else await self._refusal(Request(scope))
        await (self.app if refusal is None else refusal)(scope, receive, send)

    def _is_free(self, path: str) -> bool:
        return any(
            path == each or (each.endswith("/*") and path.startswith(each[:-1]))
            for each in self.always_allowed
        )

    async def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that is not allowed; ``None`` if it is."""
        path, verb = request.url.path, "get" if request.method in ("GET", "HEAD") else request.method.lower()
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            user = ANONYMOUS
            if scheme:
                known = (
                    await self.reviewer.authenticate(token.strip()) if scheme.lower() == "bearer" else None
                )
                if known is None:
                    return PlainTextResponse("Unauthorized\n", 401, {"WWW-Authenticate": "Bearer"})
                user = known
            if await self.reviewer.may(user, verb, path):
                return None
        except ClusterError:
            return PlainTextResponse("the API server did not answer the review\n", 503)
        return PlainTextResponse(f'User "{user.name}" cannot {verb} path "{path}"\n', 403)
