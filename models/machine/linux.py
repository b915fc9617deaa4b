"""A machine with the programs and the virtual files of its operating system: where a node is put together."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.models.machine.hostplace import HostPlace, run_tool
from simcluster.models.machine.hosttools.table import run_on_host
from simcluster.models.machine.hosttools.virtualfiles import virtual_file
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome


class LinuxMachine(Machine):
    """A node with Ubuntu on it."""

    def run(self, argv: Sequence[str], stdin: str = "") -> Outcome | None:
        """Any program of the host but those of its login shell (`crictl`, `cat`, `free`); None if there is none."""
        result = run_on_host(self, argv, stdin)
        return run_tool(self, list(argv), stdin) if result is None else result

    def place(self) -> HostPlace:
        """The node as a shell meets it."""
        return HostPlace(self)

    def has_program(self, name: str) -> bool:
        """Whether the host has a program of this name."""
        return bool(HostPlace(self).located(name))

    def file(self, path: str) -> str | None:
        """Text of a file of /proc or /sys; None if there is none of that name."""
        return virtual_file(self, path)
