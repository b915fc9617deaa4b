"""What SRE-Zero accepts: a fix that was applied, a root cause and a fix that were said.

For its lists of words stand half of the words of the canonical cause that carry a meaning, and of a fix its service
with its key and value, or with the word for a restart.
"""

from __future__ import annotations

import math
import re

from simcluster.eval.frameworks.srezero.actions import Action
from simcluster.eval.generator.srezero import Row, text

SERVICES = ("web_server", "database", "cache", "message_queue", "load_balancer")
_ALIASES = {
    "web_server": ("web server", "webserver", "web"),
    "database": ("database", "db", "postgres"),
    "cache": ("cache", "redis"),
    "message_queue": ("message queue", "queue", "mq", "broker"),
    "load_balancer": ("load balancer", "lb", "balancer"),
}
_EMPTY = ("a", "an", "and", "causing", "caused", "due", "for", "is", "of", "than", "the", "to", "too", "was", "with")
_WORD = re.compile(r"[a-z0-9./]+")


def folded(said: str) -> str:
    """A text in lower case, with spaces for lines and underscores.

    >>> folded("DB_POOL-size")
    'db pool size'
    """
    return " ".join(said.lower().replace("_", " ").replace("-", " ").split())


def mends(row: Row, action: Action) -> bool:
    """Whether an action is the fix of a task."""
    if action.service != row.service:
        return False
    fix = row.fix
    if fix.restart:
        return action.action_type == "restart_service"
    if action.action_type != "update_config" or action.key.upper() != fix.key:
        return False
    if fix.least is None:
        return text(action.value) == text(fix.equal)  # type: ignore[arg-type]
    return isinstance(action.value, int | float) and not isinstance(action.value, bool) and action.value >= fix.least


def names_cause(row: Row, said: str) -> bool:
    """Whether a text tells the root cause: as it is written, or by half of its words."""
    given = folded(said)
    words = [one for one in _WORD.findall(folded(row.cause)) if one not in _EMPTY]
    known = set(_WORD.findall(given))
    found = sum(word in known for word in words)  # integers
    return folded(row.cause) in given or found >= math.ceil(len(words) / 2)


def names_fix(row: Row, said: str) -> bool:
    """Whether a text tells the fix."""
    given = f" {folded(said)} "
    if not any(f" {alias} " in given for alias in _ALIASES[row.service]) and folded(row.fix.key) not in given:
        return False
    if row.fix.restart:
        return "restart" in given
    value = text(row.fix.to).lower()
    numbers = [int(one) for one in re.findall(r"\d+", given)]
    right = value in given or (row.fix.least is not None and any(one >= row.fix.least for one in numbers))
    return folded(row.fix.key) in given and right
