"""PodGroups are read in the version that the API server has."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from schedframe.api import PodGroup
from schedframe.cluster.kubernetes.errors import ApiError
from schedframe.cluster.kubernetes.resources import find_resource


class Server:
    """Serves PodGroups in some versions."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions

    async def request(self, method: str, path: str) -> bytes:
        version = path.rpartition("/")[2]
        if version not in self.versions:
            raise ApiError(f"{method} {path}", 404, "NotFound", "the server does not have it")
        return json.dumps({"resources": [{"name": "podgroups", "kind": "PodGroup"}]}).encode()


@pytest.mark.parametrize(
    ("served", "base"),
    [
        (("v1alpha2",), "/apis/scheduling.k8s.io/v1alpha2"),
        (("v1beta1", "v1alpha3"), "/apis/scheduling.k8s.io/v1alpha3"),
        (("v1beta1",), "/apis/scheduling.k8s.io/v1beta1"),
        ((), "/apis/scheduling.k8s.io/v1alpha2"),
    ],
)
def test_the_version_that_is_served_is_used(served: tuple[str, ...], base: str) -> None:
    client: Any = Server(*served)
    assert asyncio.run(find_resource(client, PodGroup)).base == base
