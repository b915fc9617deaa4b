"""Options of a node's programs, and what getopt says of those that a program does not have."""

from __future__ import annotations

from simcluster.models.machine.process import ExecResult
from simcluster.models.userland.options import Options, parse

__all__ = ["Options", "parse", "refusal"]


def refusal(asked: Options, program: str, hint: str = "", code: int = 1) -> ExecResult:
    """The answer to a command line that is wrong."""
    said = asked.refused(program, hint, code)
    return ExecResult(said.stdout, said.stderr, said.code)
