"""Declarations of fields: shared defaults, and what the codec needs besides the type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from .._base.checked import checked
from .._base.value import record

WIRE: Final = "schedframe.wire"
"""Metadata key of an attrs field for the result of :func:`wire`."""

DEFAULT_NAMESPACE: Final = "default"
"""Namespace of a namespaced object without ``metadata.namespace``, as with kubectl."""


class _EmptyMap(dict[str, Any]):
    """The empty map that all defaults share. Because it is shared, it cannot be written to."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("API values are immutable: build a new mapping instead of changing this one")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __reduce__(self) -> str:
        return "EMPTY"

    def __copy__(self) -> _EmptyMap:
        return self

    def __deepcopy__(self, memo: object) -> _EmptyMap:
        return self


EMPTY: Final[dict[str, Any]] = _EmptyMap()
"""Default of every mapping field."""


@record(frozen=True, eq=False)
class Wire:
    """Facts about a field that the codec needs besides its type; see :func:`wire`."""

    name: str = ""
    always: bool = False
    bits: int = 64
    decode: Callable[[Any], Any] | None = None
    encode: Callable[[Any], Any] | None = None
    unique: bool = False
    share: bool = False
    skip: bool = False
    """Whether the field is not in manifests."""


@checked
def wire(
    name: str = "",
    *,
    always: bool = False,
    bits: int = 64,
    decode: Callable[[Any], Any] | None = None,
    encode: Callable[[Any], Any] | None = None,
    unique: bool = False,
    share: bool = False,
) -> dict[str, Any]:
    """Return the metadata of a field; *name* is its key in manifests (default: camelCase of the attribute).

    *always*: write the field also with its default value (Kubernetes' fields without ``omitempty``). *bits*:
    width of an integer. *decode*, *encode*: replace the codec of the type. *unique*: do not intern texts,
    because they differ between objects. *share*: equal values become one object, for fields that are equal in
    all pods of a workload.
    """
    return {
        WIRE: Wire(name, always=always, bits=bits, decode=decode, encode=encode, unique=unique, share=share)
    }


HIDDEN: Final[Mapping[str, Any]] = {WIRE: Wire(skip=True)}
"""Metadata of attributes that are derived and not in manifests."""
