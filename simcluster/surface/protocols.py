"""How the surface sees the rest: the API, the clock, the hosts. `world` hands in the implementations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from simcluster.api.encoding.wire import Wire
from simcluster.api.request import Request, Response
from simcluster.models.userland.outcome import Outcome as Outcome  # noqa: PLC0414  # for those who see only this file
from simcluster.models.userland.place import Place


class HttpAnswer(Outcome):
    """What came of an HTTP exchange.

    Attributes:
        wire: what goes over the socket.
        response: what the API server gave; None if it was not asked.
    """

    wire: Wire
    response: Response | None

    def __new__(cls, stdout: str, stderr: str, exit_code: int, wire: Wire, response: Response | None) -> HttpAnswer:
        """A command's result with what an exchange has beside."""
        made = super().__new__(cls, stdout, stderr, exit_code)
        made.wire, made.response = wire, response
        return made


class ApiEndpoint(Protocol):
    """The API server."""

    def handle(self, request: Request) -> Response:
        """Answer one request at the present instant."""


class Clock(Protocol):
    """Simulated time, for commands that wait (`rollout status`, `wait`, `get -w`).

    One that interrupts also has `left_ns` (how long somebody goes on waiting, or None) and `cut` (whether it has).
    """

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""

    def advance(self, duration_ns: int) -> None:
        """Let the world live on for a while."""


class Interrupted(Exception):
    """A clock ends the command that lets it run: `timeout` kills it, a user presses Ctrl-C.

    Attributes:
        exit_code: what the shell sees.
    """

    def __init__(self, exit_code: int = 130) -> None:
        super().__init__("interrupted")
        self.exit_code = exit_code


class Workstation(Protocol):
    """The machine on which somebody types kubectl commands."""

    def edit(self, text: str, suffix: str) -> str:
        """What the user's editor makes of a temporary file; `suffix` is `.yaml`."""


class JournalEntry(Protocol):
    """One line of a node's journal."""

    @property
    def t_ns(self) -> int:
        """Instant, simulated nanoseconds."""

    @property
    def unit(self) -> str:
        """`kubelet.service`; empty for the kernel."""

    @property
    def identifier(self) -> str:
        """`kubelet`, `systemd`, `kernel`."""

    @property
    def pid(self) -> int:
        """Process that wrote it."""

    @property
    def text(self) -> str:
        """The line without its head."""


class HostAnswer(Protocol):
    """What a program of a host printed."""

    @property
    def stdout(self) -> str:
        """Standard output."""

    @property
    def stderr(self) -> str:
        """Standard error."""

    @property
    def code(self) -> int:
        """Exit status."""


class Unit(Protocol):
    """One systemd unit of a node."""

    name: str  # "kubelet.service"
    description: str
    active: bool
    failed: bool
    enabled: bool
    changed_ns: int  # since when it is in this state
    pid: int
    command: str
    slice: str  # of its control group
    cpu_weight: int
    restart: str  # `no`, `always`, `on-failure`
    restart_ns: int
    masked: bool
    result: str
    restarts: int
    dropins: dict[str, str]

    @property
    def control_group(self) -> str:
        """Its control group."""


class Host(Protocol):
    """A node's operating system, as somebody logged in as root meets it."""

    name: str

    def unit(self, name: str) -> Unit | None:
        """The unit of this name, with or without `.service`."""

    def unit_list(self) -> Sequence[Unit]:
        """All units, sorted by name."""

    def control(self, action: str, name: str) -> str:
        """systemctl start, stop, restart, enable, disable, mask or unmask a unit; an error text or ""."""

    def signal_unit(self, name: str, signal: str) -> None:
        """A signal to a unit's main process."""

    def set_weight(self, name: str, weight: int, *, lasts: bool) -> None:
        """CPUWeight= of a unit; `lasts` beyond the next boot."""

    def is_restarting(self, name: str) -> bool:
        """Whether a unit waits for its automatic restart."""

    def journal(self) -> Iterable[JournalEntry]:
        """The journal, oldest first."""

    def place(self) -> Place:
        """The node as a shell meets it."""

    def run(self, argv: Sequence[str], stdin: str = "") -> HostAnswer | None:
        """Any other program of the host (`crictl`, `cat`, `free`); None if there is none."""


class Shell(Protocol):
    """A root shell on a node."""

    def sh(self, command: str) -> Outcome:
        """Run one command line."""


class Session(Protocol):
    """An incident as an agent meets it: what it was paged with and what it may do.

    Every call takes simulated time, as the episode's clock policy says.
    """

    @property
    def alert(self) -> str:
        """The page, as text."""

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`, without a shell; `stdin` is what `-f -` reads."""

    def sh(self, command: str, stdin: str = "") -> Outcome:
        """Run a command line at the operator's desk: a shell with kubectl, ssh, jq and files."""

    def node(self, name: str) -> Shell:
        """A root shell on a node. Unknown names answer every command as ssh would."""

    def wait(self, duration: str) -> None:
        """Let simulated time pass (`30s`, `5m`)."""

    def diagnose(self, answer: str | dict[str, object]) -> None:
        """Submit the diagnosis; the last one counts."""


@runtime_checkable
class Thinking(Protocol):
    """A session that is told how long somebody thinks."""

    def think(self, duration: str) -> None:
        """Let simulated time pass that no command is charged with, up to the end of the budget."""


class BudgetExceeded(Exception):
    """The session's budget of commands or of simulated time is used up."""
