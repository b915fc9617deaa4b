"""Lines of klog v2, as Kubernetes' components write them, and where a component's process writes them."""

from __future__ import annotations

import json
from collections.abc import Callable

from simcluster.engine import Simulation, format_rfc3339


def klog_line(level: str, now_ns: int, pid: int, where: str, message: str, **values: object) -> str:
    """A structured line; `level` is I, W, E or F, `where` a position in the source."""
    listed = "".join(f" {key}={_quoted(value)}" for key, value in values.items())
    return klog_text(level, now_ns, where, f'"{message}"{listed}', pid)


def klog_text(level: str, now_ns: int, where: str, text: str, pid: int = 1) -> str:
    """One line with a text as it stands."""
    stamp = format_rfc3339(now_ns, digits=6)
    return f"{level}{stamp[5:7]}{stamp[8:10]} {stamp[11:26]} {pid:7d} {where}] {text}"


def _quoted(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ",".join(_quoted(item) for item in value) + "]"
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict) else str(value)


class ComponentLog:
    """What a component says: in the log of the process that does its work, and nowhere while there is none.

    Attributes:
        verbosity: of its flag `--v`: lines of a higher level are not written.
    """

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.verbosity = 0
        self._write: Callable[[str, str], None] | None = None

    def attach(self, write: Callable[[str, str], None], verbosity: int = 0) -> None:
        """From now on lines go there (text, stream)."""
        self._write, self.verbosity = write, verbosity

    def detach(self) -> None:
        """The process is gone."""
        self._write = None

    def says(self, level: int = 0) -> bool:
        """Whether a line of a verbosity is written at all."""
        return self._write is not None and level <= self.verbosity

    def note(self, where: str, message: str, **values: object) -> None:
        """A structured line."""
        if self._write is not None:
            self._write(klog_line("I", self.sim.now, 1, where, message, **values), "stderr")

    def complain(self, where: str, error: str, message: str = "Unhandled Error", **values: object) -> None:
        """A structured line of an error; without a message of its own it is one that nobody handles."""
        if self._write is not None:
            if message == "Unhandled Error":
                values["logger"] = "UnhandledError"
            self._write(klog_line("E", self.sim.now, 1, where, message, err=error, **values), "stderr")

    def text(self, level: str, where: str, text: str) -> None:
        """A line as it stands."""
        if self._write is not None:
            self._write(klog_text(level, self.sim.now, where, text), "stderr")
