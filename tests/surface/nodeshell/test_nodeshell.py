"""The node shell: pipes and lists, systemctl, journalctl, text filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from simcluster.engine import SECOND
from simcluster.models.userland.bare import BarePlace
from simcluster.models.userland.face import BASH
from simcluster.models.userland.memory import MemoryFiles
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call, Place
from simcluster.surface.nodeshell import NodeShell


@dataclass
class Entry:
    t_ns: int
    unit: str
    identifier: str
    pid: int
    text: str


@dataclass
class Unit:
    name: str
    description: str
    active: bool
    failed: bool
    enabled: bool
    changed_ns: int
    pid: int
    command: str
    slice: str = "system.slice"
    cpu_weight: int = 100
    restart: str = "always"
    restart_ns: int = 10 * SECOND
    masked: bool = False
    result: str = "success"
    restarts: int = 0
    dropins: dict[str, str] = field(default_factory=dict)

    @property
    def control_group(self) -> str:
        return f"/{self.slice}/{self.name}"


@dataclass
class Answer:
    stdout: str
    stderr: str = ""
    code: int = 0


class Host:
    """A node with a kubelet and one file."""

    name = "worker-1"

    def __init__(self) -> None:
        command = "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"
        self.kubelet = Unit("kubelet.service", "kubelet: The Kubernetes Node Agent", True, False, True, 0, 712, command)
        self.entries = [
            Entry(0, "kubelet.service", "systemd", 1, "Started kubelet.service."),
            Entry(5 * SECOND, "kubelet.service", "kubelet", 712, "E0302 cannot reach"),
            Entry(9 * SECOND, "containerd.service", "containerd", 400, "level=info"),
            Entry(10 * SECOND, "", "kernel", 0, "oom-kill"),
        ]

    def unit(self, name: str) -> Unit | None:
        return self.kubelet if name in ("kubelet", "kubelet.service") else None

    def unit_list(self) -> Sequence[Unit]:
        return [self.kubelet]

    def is_restarting(self, name: str) -> bool:
        return False

    def signal_unit(self, name: str, signal: str) -> None:
        self.kubelet.active = False

    def set_weight(self, name: str, weight: int, *, lasts: bool) -> None:
        self.kubelet.cpu_weight = weight

    def control(self, action: str, name: str) -> str:
        self.kubelet.active = action != "stop"
        return ""

    def journal(self) -> list[Entry]:
        return self.entries

    def place(self) -> Place:
        return _Place(self)

    def run(self, argv: Sequence[str], stdin: str = "") -> Answer | None:
        if list(argv) == ["cat", "/etc/hostname"]:
            return Answer("worker-1\n")
        return Answer("Mem: 1 2 3\n") if argv[0] == "free" else None


class _Place(BarePlace):
    def __init__(self, host: Host) -> None:
        files = MemoryFiles(int)
        files.put("/etc/hostname", "worker-1\n")
        files.make_folders("/root")
        super().__init__(BASH, files, "worker-1", more=("free",))
        self._host = host

    def program(self, call: Call) -> Outcome | None:
        answer = self._host.run(call.argv)
        return None if answer is None else Outcome(answer.stdout, answer.stderr, answer.code)


class Clock:
    def __init__(self) -> None:
        self.now = 605 * SECOND

    def advance(self, duration_ns: int) -> None:
        self.now += duration_ns


@pytest.fixture
def shell() -> NodeShell:
    return NodeShell(Host(), Clock())


def test_status_of_a_running_unit(shell: NodeShell) -> None:
    assert shell.sh("systemctl status kubelet --no-pager").stdout == (
        "● kubelet.service - kubelet: The Kubernetes Node Agent\n"
        "     Loaded: loaded (/usr/lib/systemd/system/kubelet.service; enabled; preset: enabled)\n"
        "     Active: active (running) since Mon 2026-03-02 09:00:00 UTC; 10min ago\n"
        "   Main PID: 712 (kubelet)\n"
        "     CGroup: /system.slice/kubelet.service\n"
        "             └─712 /usr/bin/kubelet --config=/var/lib/kubelet/config.yaml\n"
        "\n"
        "Mar 02 09:00:00 worker-1 systemd[1]: Started kubelet.service.\n"
        "Mar 02 09:00:05 worker-1 kubelet[712]: E0302 cannot reach\n"
    )


def test_stop_and_start(shell: NodeShell) -> None:
    result = shell.sh("systemctl stop kubelet && systemctl is-active kubelet || echo down")
    assert result.stdout == "inactive\ndown\n"
    assert shell.sh("systemctl status kubelet").exit_code == 3
    assert shell.sh("sudo systemctl restart kubelet; systemctl is-active kubelet").stdout == "active\n"
    missing = shell.sh("systemctl restart nope")
    assert (missing.stderr, missing.exit_code) == ("Failed to restart nope.service: Unit nope.service not found.\n", 5)
    assert shell.sh("systemctl status nope").exit_code == 4


@pytest.mark.parametrize(
    ("line", "stdout"),
    [
        ("journalctl -u kubelet -n 1 --no-pager", "Mar 02 09:00:05 worker-1 kubelet[712]: E0302 cannot reach\n"),
        ("journalctl -xeu kubelet | grep -c reach", "1\n"),
        ("journalctl -k", "Mar 02 09:00:10 worker-1 kernel: oom-kill\n"),
        ("journalctl --since '596 sec ago' -o cat", "level=info\noom-kill\n"),
        ("journalctl --since '2026-03-02 09:00:09' -o cat | head -1", "level=info\n"),
        ("journalctl -u nothing", "-- No entries --\n"),
        ("free | awk '{print $2, $NF}'", "1 3\n"),
        ("cat /etc/hostname | tr a-z A-Z", "WORKER-1\n"),
        ("echo 'a b' | wc -w", "2\n"),
        ("hostname; whoami", "worker-1\nroot\n"),
        ("echo -e 'b 2\\na 10\\nb 2' | sort -k2 -n | uniq -c", "      2 b 2\n      1 a 10\n"),
        ("echo a,b,c | cut -d, -f1,3", "a,c\n"),
        ("echo hello | sed 's/l\\+/L/'", "heLo\n"),
        ("echo -e '1\\n2\\n3\\n4' | sed -n '2,3p'", "2\n3\n"),
        ("echo -e 'x=1\\ny=2' | awk -F= '$2>1 {print $1\":\"$2; s+=$2} END {print s, NR}'", "y:2\n2 2\n"),
        ("echo -e 'a\\nb\\nc' | grep -v b | tail -n 1", "c\n"),
        ("echo -e 'Error x\\nok' | grep -iE 'error|fail'", "Error x\n"),
        ("nothing 2>/dev/null; echo $?", "127\n"),
        ("nothing 2>&1 | grep -o 'not found'", "not found\n"),
    ],
)
def test_lines(shell: NodeShell, line: str, stdout: str) -> None:
    assert shell.sh(line).stdout == stdout


def test_unknown_programs_and_bad_syntax(shell: NodeShell) -> None:
    assert shell.sh("foo --bar")[:3] == ("", "bash: line 1: foo: command not found\n", 127)
    assert shell.sh("| x").stderr == (
        "bash: -c: line 1: syntax error near unexpected token `|'\nbash: -c: line 1: `| x'\n"
    )
    assert shell.sh("echo 'x").exit_code == 2
    assert shell.sh("echo x > /nope/passwd").stderr == "bash: line 1: /nope/passwd: No such file or directory\n"


def test_sleep_lets_time_pass(shell: NodeShell) -> None:
    before = shell.clock.now
    assert shell.sh("sleep 2 && sleep 1m").exit_code == 0
    assert shell.clock.now - before == 62 * SECOND
