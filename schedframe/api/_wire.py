"""How fields are declared: shared defaults, and what the manifest codec has to know beyond the type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

WIRE: Final = "schedframe.wire"
"""Metadata key under which :func:`wire` keeps its answer on an attrs field."""

DEFAULT_NAMESPACE: Final = "default"
"""Where a namespaced object without ``metadata.namespace`` lives, as with kubectl."""


class _EmptyMap(dict[str, Any]):
    """The one empty map that defaults share; being shared, it cannot be written to."""

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


class Wire:
    """What the codec knows about one field besides its type."""

    __slots__ = ("always", "bits", "decode", "encode", "name", "share", "skip", "unique")

    def __init__(
        self,
        name: str = "",
        *,
        always: bool = False,
        bits: int = 64,
        decode: Callable[[Any], Any] | None = None,
        encode: Callable[[Any], Any] | None = None,
        unique: bool = False,
        share: bool = False,
        skip: bool = False,
    ) -> None:
        self.name = name
        self.always = always
        self.bits = bits
        self.decode = decode
        self.encode = encode
        self.unique = unique
        self.share = share
        self.skip = skip


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
    """Field metadata: *name* in manifests (default: camelCase of the attribute).

    *always* writes the field even when it has its default (Kubernetes' fields without ``omitempty``), *bits*
    is the width of an integer, *decode* and *encode* replace the codec made from the type. Texts are kept
    once for all objects, except where they are *unique* to one; *share* does the same with whole values, for
    what all pods of a workload have in common.
    """
    return {
        WIRE: Wire(name, always=always, bits=bits, decode=decode, encode=encode, unique=unique, share=share)
    }


HIDDEN: Final[Mapping[str, Any]] = {WIRE: Wire(skip=True)}
"""Metadata of attributes that are derived and have no place in manifests."""
