"""What applications make of a process: the seam between machines and applications."""

from __future__ import annotations

from typing import Protocol

from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call, Process
from simcluster.models.userland.outcome import Outcome
from simcluster.telemetry.metrics.columns import Samples


class Program(Process):
    """The main process of a container that it knows."""

    def __init__(self, container: Container) -> None:
        self.container = container


class WrappedProgram(Program):
    """A program around another one: the process whose start and end mean something more.

    A subclass overrides what differs, and calls the rest here.
    """

    def __init__(self, container: Container, inner: Program) -> None:
        super().__init__(container)
        self.inner = inner

    @property
    def comm(self) -> str:
        """What the other one's file is called."""
        return self.inner.comm

    def start(self) -> None:
        """The process was started."""
        self.inner.start()

    def terminate(self) -> None:
        """SIGTERM."""
        self.inner.terminate()

    def stop(self) -> None:
        """The process is gone."""
        self.inner.stop()

    def denied(self, call: str, errno: str) -> None:
        """The kernel refuses it something."""
        self.inner.denied(call, errno)

    def listens_on(self, port: int) -> bool:
        """Whether the process accepts connections on the port now."""
        return self.inner.listens_on(port)

    def speaks(self, port: int) -> str:
        """The protocol of a port."""
        return self.inner.speaks(port)

    def answer(self, call: Call) -> Answer:
        """Answer one call."""
        return self.inner.answer(call)

    def steady(self, call: Call) -> object | None:
        """What a health check goes by."""
        return self.inner.steady(call) if type(self).answer is WrappedProgram.answer else None

    def rest(self) -> None:
        """Idle time is about to be skipped."""
        self.inner.rest()

    def resume(self) -> None:
        """All goes on."""
        self.inner.resume()

    def leapt(self, since_ns: int) -> None:
        """Idle time was skipped."""
        self.inner.leapt(since_ns)

    def stop_collecting(self) -> None:
        """What it collects is the other one's."""
        self.inner.stop_collecting()

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its metrics."""
        return self.inner.exposition(call)

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """Run a command of the image."""
        return self.inner.run(argv)

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """The same with standard input."""
        return self.inner.run_with_input(argv, stdin)


class ProgramCatalog(Protocol):
    """Which program an image runs."""

    def program_for(self, container: Container) -> Program:
        """The program of a container that is about to start."""
