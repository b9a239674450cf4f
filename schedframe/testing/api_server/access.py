"""Users and their rights: bearer tokens of users, and rules that forbid."""

from __future__ import annotations

from fnmatch import fnmatchcase

from attrs import field

from ..._base.value import record
from .refusals import Refusal
from .requests import Request


@record(frozen=True)
class Rule:
    """A right that a user does not have; ``*`` stands for anything."""

    verb: str
    resource: str
    user: str


@record(eq=False)
class AccessRules:
    """The users of a server by token, and what is forbidden."""

    users: dict[str, str] = field(factory=dict)
    """Token → user. Requests with another token, or without one, are refused (401)."""
    forbidden: list[Rule] = field(factory=list)

    def user_of(self, authorization: str) -> str:
        """Return the user of an ``Authorization`` header. Raises :class:`Refusal` (401)."""
        user = self.users.get(authorization.removeprefix("Bearer "))
        if user is None:
            raise Refusal(401, "Unauthorized")
        return user

    def check(self, request: Request) -> None:
        """Raise :class:`Refusal` (403) if the user may not do that."""
        for rule in self.forbidden:
            if (
                fnmatchcase(request.verb, rule.verb)
                and fnmatchcase(request.resource, rule.resource)
                and fnmatchcase(request.user, rule.user)
            ):
                group = request.kind.group if request.kind is not None else ""
                raise Refusal(
                    403,
                    f'{request.resource} is forbidden: User "{request.user}" cannot {request.verb} resource '
                    f'"{request.resource}" in API group "{group}"',
                )
