"""Names that Kubernetes accepts: qualified names, label keys and values, extended resources."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_NAME_MAX: Final = 63
_PREFIX_MAX: Final = 253
_QUOTA_PREFIX: Final = "requests."
_NATIVE: Final = "kubernetes.io/"


def qualified_name_problems(name: str) -> list[str]:
    """Return why *name* is no qualified name or label key (``example.com/name``); [] if it is one."""
    prefix, slash, last = name.rpartition("/")
    problems = []
    if slash:
        if "/" in prefix:
            return [f"{name!r} has more than one '/'; write a name, or a DNS prefix, '/' and a name"]
        if not prefix:
            problems.append("the part before '/' is empty; write a DNS name there, or leave out the '/'")
        elif len(prefix) > _PREFIX_MAX or not _SUBDOMAIN.fullmatch(prefix):
            problems.append(
                f"the part before '/' must be a DNS name of at most {_PREFIX_MAX} characters: "
                "lower case letters, digits, '-' and '.', with a letter or digit at both ends of each label"
            )
    if not last:
        problems.append("the name is empty; write letters, digits, '-', '_' or '.'")
    elif len(last) > _NAME_MAX or not _NAME.fullmatch(last):
        problems.append(
            f"the name must have at most {_NAME_MAX} characters: letters, digits, '-', '_' or '.', "
            "with a letter or digit at both ends"
        )
    return problems


def label_value_problems(value: str) -> list[str]:
    """Return why *value* is no label value; [] if it is one, as the empty value is."""
    if not value or (len(value) <= _NAME_MAX and _NAME.fullmatch(value)):
        return []
    return [
        f"a label value must have at most {_NAME_MAX} characters: letters, digits, '-', '_' or '.', "
        "with a letter or digit at both ends"
    ]


def is_extended_resource_name(name: str) -> bool:
    """Return whether a qualified name is that of an extended resource (``example.com/gpu``)."""
    if "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not qualified_name_problems(_QUOTA_PREFIX + name)
