"""SRE-Zero's action grammar: eight calls, as texts or as objects.

`NAME(ARGUMENTS)`, the arguments as one row of CSV without quotes; the value of a setting is read as a switch, a whole
number, a number or a text, in this order. A service that does not exist is no mistake of the grammar.
"""

from __future__ import annotations

import csv
import re
from typing import Any, Literal, get_args

from pydantic import ValidationError

from simcluster.engine.content import Content
from simcluster.models.apps.settings import scalar

ActionType = Literal[
    "inspect_logs",
    "inspect_metrics",
    "check_status",
    "inspect_config",
    "restart_service",
    "update_config",
    "resolve_incident",
    "escalate",
]
#: The names of each action's arguments; those in brackets may be left out.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "inspect_logs": ("service",),
    "inspect_metrics": ("service",),
    "check_status": ("service",),
    "inspect_config": ("service", "[key]"),
    "restart_service": ("service",),
    "update_config": ("service", "key", "value"),
    "resolve_incident": ("root_cause", "fix"),
    "escalate": ("reason",),
}
#: How each is written, for who asks what there is.
TEMPLATES = tuple(f"{name}({', '.join(one.strip('[]') + '?' * ('[' in one) for one in given)})"
                  for name, given in ARGUMENTS.items())  # fmt: skip
_CALL = re.compile(r"^\s*([a-z_]+)\s*\((.*)\)\s*$", re.DOTALL)
Value = bool | int | float | str


class ActionError(ValueError):
    """What is no action; the message says what would be one."""


class Action(Content):
    """One action; what it does not take stays empty."""

    action_type: ActionType
    service: str = ""
    key: str = ""
    value: Value | None = None
    root_cause: str = ""
    fix: str = ""
    reason: str = ""

    @property
    def canonical(self) -> str:
        """The call as a text: equal actions are written alike.

        >>> parsed(" update_config( cache , TTL_SECONDS, '300')").canonical
        'update_config(cache, TTL_SECONDS, 300)'
        """
        names = [one.strip("[]") for one in ARGUMENTS[self.action_type]]
        given = [getattr(self, name) for name in names]
        shown = [str(one).lower() if isinstance(one, bool) else str(one) for one in given if one not in ("", None)]
        return f"{self.action_type}({', '.join(shown)})"


def action_of(given: str | Action | dict[str, Any]) -> Action:
    """An action from a text, an object, or the fields of one. Raises ActionError."""
    if isinstance(given, Action):
        return given
    if isinstance(given, str):
        return parsed(given)
    try:
        action = Action.model_validate(given)
    except ValidationError as problem:
        raise ActionError(problem.errors()[0]["msg"]) from None
    lacking = [one for one in ARGUMENTS[action.action_type] if "[" not in one and getattr(action, one) in ("", None)]
    if lacking:
        raise ActionError(f"{action.action_type} needs {', '.join(lacking)}")
    return action


def parsed(text: str) -> Action:
    """The action that a text calls.

    Raises:
        ActionError: it is no call, of nothing that there is, or has too many or too few arguments.

    >>> parsed('restart_service(cache)').service
    'cache'
    """
    match = _CALL.match(text)
    if match is None:
        raise ActionError(f"write one call, such as inspect_logs(cache), not {text.strip()[:80]!r}")
    name = match[1]
    if name not in ARGUMENTS:
        raise ActionError(f"there is no action {name}; there are {', '.join(ARGUMENTS)}")
    rows = list(csv.reader([match[2].replace("\n", " ")], skipinitialspace=True))
    values = [one.strip().strip("'\"") for one in (rows[0] if rows else [])]
    names = ARGUMENTS[name]
    least = sum("[" not in one for one in names)  # integers
    if not least <= len(values) <= len(names) or not all(values):
        raise ActionError(f"write {next(one for one in TEMPLATES if one.startswith(name + '('))}")
    fields: dict[str, Any] = {one.strip("[]"): value for one, value in zip(names, values, strict=False)}
    if "value" in fields:
        fields["value"] = value_of(fields["value"])
    return Action.model_validate({"action_type": name, **fields})


def value_of(text: str) -> Value:
    """A value as its text says.

    >>> value_of("True"), value_of("80"), value_of("0.5"), value_of("/healthz")
    (True, 80, 0.5, '/healthz')
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return scalar(text)


def types() -> tuple[str, ...]:
    """The names of all actions."""
    return get_args(ActionType)
