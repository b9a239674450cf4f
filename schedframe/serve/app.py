"""The pages of the server, as an ASGI application of Starlette."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .._base.value import record
from .._version import __version__
from ..cycle.inspection import CoreBusy
from .access import AccessReviewer
from .checks import Answer, HealthChecks
from .guard import Guard, Surrounded
from .profiling import profile, threads

EMULATED: Final = ("1", "36")
"""Version of kube-scheduler that the behaviour is that of."""
EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"
ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")
"""Paths that need no authorization by default; ``*`` at the end admits all paths that begin so."""


@record(frozen=True, kw_only=True)
class Endpoints:
    """Content of the pages. The functions are called in any thread; without one its page is absent."""

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
    app = Starlette(routes=_routes(endpoints), exception_handlers={404: _absent})
    app.router.redirect_slashes = False
    return Surrounded(app if reviewer is None else Guard(app, reviewer, always_allowed))


def _absent(*_: object) -> Response:
    return PlainTextResponse("404 page not found\n", 404)


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
        return _absent() if answer is None else _health(answer)

    return [Route(f"/{name}", all_checks), Route(f"/{name}/{{check}}", one_check)]


def _health(answer: Answer) -> Response:
    return PlainTextResponse(answer.text, 200 if answer.is_ok else 500)


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
