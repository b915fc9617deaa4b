"""The command line: `simcluster COMMAND`. Every command lives in a file of its own, loaded when it is used.

Exit status: 0 done (agents may have failed), 1 a check, gate or validation failed, 2 usage,
3 internal error, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.cli.group import run_group


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status.

    Args:
        argv: arguments without the program's name; by default those of the process.
    """
    return run_group(argv)
