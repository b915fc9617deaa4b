"""A bounded part of JavaScript, for the shells and interpreters whose one-liners operators type."""

from simcluster.models.userland.javascript.evaluator import Script, evaluate
from simcluster.models.userland.javascript.values import (
    UNDEFINED,
    Exhausted,
    Function,
    Host,
    Native,
    ScriptError,
    Unsupported,
    text_of,
)

__all__ = [
    "UNDEFINED",
    "Exhausted",
    "Function",
    "Host",
    "Native",
    "Script",
    "ScriptError",
    "Unsupported",
    "evaluate",
    "text_of",
]
