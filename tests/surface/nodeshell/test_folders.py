"""`cd` in a node's shell, and what relative paths mean there; limits; what there is to run."""

from __future__ import annotations

import pytest

from simcluster.surface.nodeshell import NodeShell
from simcluster.surface.nodeshell.limits import ulimit
from tests.clusters.onemachine import one_machine


class Standing:
    """A clock that stands."""

    now = 0

    def advance(self, duration_ns: int) -> None:
        """Nothing moves."""


@pytest.fixture
def shell() -> NodeShell:
    machine = one_machine()
    machine.files.write("/etc/hostname", "worker-1\n")
    machine.files.write("/var/log/a.log", "one\ntwo\n")
    machine.files.write("/var/log/b.log", "two\n")
    return NodeShell(machine, Standing())


@pytest.mark.parametrize(
    ("line", "out", "error"),
    [
        ("cd /etc && pwd", "/etc\n", ""),
        ("cd /var/log; cd ..; pwd; cd -", "/var\n/var/log\n", ""),
        ("cd /var; cd; pwd", "/root\n", ""),
        ("cd /var/log && cat a.log | tail -n 1", "two\n", ""),
        ("cd /var/log && grep -c two *.log", "/var/log/a.log:1\n/var/log/b.log:1\n", ""),
        ("cd /var && ls log", "a.log\nb.log\ncontainers\npods\n", ""),
        ("cd /tmp && echo hi > x && cat /tmp/x", "hi\n", ""),
        ("cd /tmp && touch y && ls", "y\n", ""),
        ("cd /var/log && wc -l < a.log", "2\n", ""),
        ("cd /nowhere; echo $?", "1\n", "bash: cd: /nowhere: No such file or directory\n"),
        ("cd /etc/hostname", "", "bash: cd: /etc/hostname: Not a directory\n"),
        ("cd -", "", "bash: cd: OLDPWD not set\n"),
        ("test -d /etc/hostname || echo file; test -d /etc && echo folder", "file\nfolder\n", ""),
    ],
)
def test_the_shell_stands_somewhere(shell: NodeShell, line: str, out: str, error: str) -> None:
    result = shell.sh(line)
    assert (result.stdout, result.stderr) == (out, error)


def test_every_command_line_begins_at_home(shell: NodeShell) -> None:
    shell.sh("cd /etc")
    assert shell.sh("pwd").stdout == "/root\n"


def test_what_is_not_installed_is_not_found(shell: NodeShell) -> None:
    assert shell.sh("which dmesg smartctl").stdout == "/usr/bin/dmesg\n/usr/bin/smartctl\n"
    refused = shell.sh("strace -c -p 1")
    assert (refused.exit_code, refused.stderr) == (127, "bash: strace: command not found\n")
    assert shell.sh("which strace").exit_code == 1
    assert shell.sh("type cd").stdout == "cd is a shell builtin\n"


def test_limits_of_a_login(shell: NodeShell) -> None:
    assert shell.sh("ulimit -n; ulimit -Hn").stdout == "1024\n1048576\n"
    assert "open files                        (-n) 1024\n" in shell.sh("ulimit -a").stdout
    assert ulimit(["-Z"], "").exit_code == 2
