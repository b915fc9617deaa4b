"""Expressions of policies and match conditions: compiled once, evaluated with real words.

Source: k8s.io/apiserver/pkg/admission/plugin/{cel,policy/validating,webhook/matchconditions}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.cel import CelError, CelSyntaxError, compile_expression
from simcluster.api.cel.values import Lazy
from simcluster.api.objects import Json

#: What expressions may name.
DECLARED = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")


class ExpressionError(Exception):
    """An expression failed; the message is the server's."""


def value_of(expression: str, variables: Mapping[str, Any]) -> Any:
    """The value of an expression. Raises ExpressionError."""
    try:
        return compile_expression(expression, DECLARED).evaluate(variables)
    except CelSyntaxError as error:
        raise ExpressionError(f"compilation error: compilation failed: {error}") from None
    except CelError as error:
        raise ExpressionError(f"expression '{expression}' resulted in error: {error}") from None


class Variables(Lazy):
    """`variables` of a policy: each is computed once, when it is asked for."""

    def __init__(self, definitions: Iterable[Mapping[str, Any]], scope: Json) -> None:
        self._expressions = {d["name"]: d["expression"] for d in definitions}
        self._scope = scope
        self._known: Json = {}

    def field(self, name: str) -> Any:
        """The value. Raises CelError."""
        if name not in self._known:
            expression = self._expressions.get(name)
            if expression is None:
                raise CelError(f"no such key: {name}")
            try:
                self._known[name] = compile_expression(expression, DECLARED).evaluate(self._scope)
            except (CelError, CelSyntaxError) as error:
                raise CelError(f'composited variable "{name}" fails to evaluate: {error}') from None
        return self._known[name]

    def has(self, name: str) -> bool:
        """Whether the policy defines it."""
        return name in self._expressions


def first_unmet(conditions: Iterable[Mapping[str, Any]], scope: Mapping[str, Any]) -> str | None:
    """The name of the first match condition that is false; None if all hold.

    Raises:
        ExpressionError: none is false, but some cannot be evaluated.
    """
    failures: list[str] = []
    for entry in conditions:
        try:
            if value_of(entry["expression"], scope) is not True:
                return str(entry["name"])
        except ExpressionError as error:
            failures.append(str(error))
    if failures:
        raise ExpressionError(failures[0] if len(failures) == 1 else "[" + ", ".join(failures) + "]")
    return None
