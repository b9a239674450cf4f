"""The fields that Kubernetes v1.36 and v1.37 publish, by type: data of ``fields.json``.

A field has a code: ``s`` text, ``n`` whole number, ``b`` boolean, ``t`` a time, ``a`` anything (amounts,
numbers or text, free objects), the name of a type, or ``[`` (list) or ``{`` (object with members of any name)
and the code of its items.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from ..metadata import ClusterObject

OBJECT_META: Final = "meta.v1.ObjectMeta"

Fields = Mapping[str, str]


@cache
def published_types() -> Mapping[str, Fields]:
    """Return name of a type → its fields with their codes."""
    text = Path(__file__).with_name("fields.json").read_text(encoding="utf-8")
    types: dict[str, Fields] = json.loads(text)
    return types


LATER_VERSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "PodGroup": ("v1alpha3", "v1beta1"),
    "Workload": ("v1alpha3", "v1beta1"),
}
"""Kind → versions whose fields differ from those of the version that its class names."""


def published_name(cls: type[ClusterObject], version: str = "") -> str:
    """Return the name that the type of a kind has there, as ``core.v1.Pod``.

    *version*: the ``apiVersion`` of the manifest, which counts if the kind has other fields in it.
    """
    group, _, own = cls.API_VERSION.rpartition("/")
    given = version.rpartition("/")[2]
    used = given if given in LATER_VERSIONS.get(cls.KIND, ()) else own
    return f"{group.split('.')[0] or 'core'}.{used}.{cls.KIND}"
