"""CEL, the Common Expression Language, as Kubernetes embeds it: the common part.

`parse` makes plain nested tuples from a text (cached, a pure function), `evaluate` computes
them over JSON values. Left out: type checking before evaluation, macros with two variables,
the cost estimate (a budget of steps stands for it).
"""

from simcluster.api.cel.evaluate import Program, compile_expression, evaluate
from simcluster.api.cel.parser import CelSyntaxError, parse
from simcluster.api.cel.values import CelError, Optional

__all__ = ["CelError", "CelSyntaxError", "Optional", "Program", "compile_expression", "evaluate", "parse"]
