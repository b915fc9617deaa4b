"""What a login shell of a node offers besides the host's own programs: systemctl, journalctl, command lines.

The shell belongs to whoever lets people in; a machine only knows how to ask it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Printed(Protocol):
    """What a program printed, and its exit status."""

    @property
    def stdout(self) -> str:
        """Standard output."""

    @property
    def stderr(self) -> str:
        """Standard error."""

    @property
    def exit_code(self) -> int:
        """Exit status."""


class LoginShell(Protocol):
    """A root shell on a node."""

    def program(self, argv: Sequence[str]) -> Printed | None:
        """Run one of the programs that only the shell knows; None if it is none of them."""
