"""A root shell takes scripts: variables, substitutions, loops, conditions, here-documents, xargs, time limits."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.machine import Machine
from simcluster.surface.nodeshell.shell import NodeShell
from tests.clusters.onemachine import one_machine


class Clock:
    """The clock of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def now(self) -> int:
        return self._machine.sim.now

    def advance(self, duration_ns: int) -> None:
        self._machine.sim.run_for(duration_ns)


@pytest.fixture
def shell() -> NodeShell:
    machine = one_machine()
    machine.sim.run_for(60 * SECOND)
    return NodeShell(machine, Clock(machine))


@pytest.mark.parametrize(
    ("script", "stdout"),
    [
        ('for i in 1 2 3; do echo "n $i"; done | tac', "n 3\nn 2\nn 1\n"),
        ("echo $(hostname) `hostname` \"$(date +%F) x\" '$HOME' ~", "worker-1 worker-1 2026-03-02 x $HOME /root\n"),
        ('X=5; Y="a b"; echo $X "$Y" ${Z:-none} $((X*3+1))', "5 a b none 16\n"),
        ('Y="a b"; for w in $Y "$Y"; do echo "[$w]"; done', "[a]\n[b]\n[a b]\n"),
        ("if systemctl is-active kubelet >/dev/null; then echo yes; else echo no; fi", "yes\n"),
        ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n"),
        ("cat <<EOF\nhost $(hostname)\n  two\nEOF\necho after", "host worker-1\n  two\nafter\n"),
        ("cat <<'EOF' > /tmp/a; cat /tmp/a\nraw $HOME\nEOF", "raw $HOME\n"),
        ("ps -eo pid,comm | awk '/kubelet/ {print $1}' | xargs -I{} cat /proc/{}/comm", "kubelet\n"),
        ("printf 'a\\nb c\\n' | while read x y; do echo \"<$x|$y>\"; done", "<a|>\n<b|c>\n"),
        ("n=0; while [ $n -lt 3 ]; do n=$((n+1)); sleep 1; done; echo $n; date +%T", "3\n09:01:03\n"),
        ("[ -f /etc/chrony/chrony.conf ] && [ -d /etc ] && test ! -e /nope && [[ a == a ]] && echo all", "all\n"),
        ("echo a b c | xargs -n1 echo x", "x a\nx b\nx c\n"),
        ("cd /tmp; echo a > f; tar czf f.tgz f; tar xzOf f.tgz; wc -c < f.tgz | wc -l", "a\n1\n"),
        ("(: < /dev/tcp/127.0.0.1/10250) && echo open; (: > /dev/tcp/127.0.0.1/9) 2>/dev/null || echo $?", "open\n1\n"),
        ("{ (sleep 1; echo late) & echo early; } | cat", "early\nlate\n"),
        ("for u in kubelet cron; do systemctl is-active $u; done | sort | uniq -c", "      2 active\n"),
        ("nothing > /tmp/e 2>&1; cat /tmp/e", "bash: line 1: nothing: command not found\n"),
        ("(echo in; echo sub) | wc -l; { echo x; } | cat", "2\nx\n"),
        ("! true; echo $?; false || echo or", "1\nor\n"),
        ("timeout 3 vmstat 1 | wc -l; date +%T", "5\n09:01:03\n"),
        ("timeout 2 sleep 60; echo $?", "124\n"),
        ("grep -rn iburst /etc/chrony", "/etc/chrony/chrony.conf:2:server 169.254.169.123 iburst\n"),
        ("find /etc/chrony -name '*.conf' -type f", "/etc/chrony/chrony.conf\n"),
        ("for i in 1 2 3; do [ $i = 2 ] && break; echo $i; done", "1\n"),
        ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done; exit 3; echo no", "1\n3\n"),
        ("ls /etc/chrony/*.conf /nope/* 2>/dev/null", "/etc/chrony/chrony.conf\n"),
        ("a=$(echo '1) (2'); echo \"$a\"", "1) (2\n"),
    ],
)
def test_scripts(shell: NodeShell, script: str, stdout: str) -> None:
    assert shell.sh(script).stdout == stdout


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("for i in 1 2", "syntax error: unexpected end of file"),
        ("if true; fi", "near unexpected token `fi'"),
        ('echo "unclosed', "unexpected EOF while looking for matching `\"'"),
        ("echo $(ls", "unexpected EOF while looking for matching `)'"),
        ("a && | b", "near unexpected token `|'"),
    ],
)
def test_what_is_no_script_is_refused_as_bash_does(shell: NodeShell, script: str, said: str) -> None:
    result = shell.sh(script)
    assert said in result.stderr
    assert result.exit_code == 2


def test_an_endless_loop_is_interrupted(shell: NodeShell) -> None:
    result = shell.sh("while true; do echo x; done")
    assert 2000 < len(result.stdout) < 1_000_000
    assert result.exit_code == 130


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("journalctl -p err -n 1 -o cat", "Out of memory: Killed process 1 (x)\n"),
        ("journalctl -p 0..2 -o cat", "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [x:1]\n"),
        ("journalctl -k -p warning -o short-precise -n 1", "Mar 02 09:01:00.000000 worker-1 kernel: Out of memory"),
        ('journalctl -n 1 -o json | grep -o \'"PRIORITY":"3"\'', '"PRIORITY":"3"\n'),
        ("journalctl --list-boots | tail -1 | cut -c1-4", "  0 \n"),
        ("journalctl -b -1", ""),
        ("dmesg -l err -t", "Out of memory: Killed process 1 (x)\n"),
        ("dmesg -x | grep hello", "kern  :info  : [   60.000000] hello\n"),
        ("dmesg --time-format iso | grep hello", "2026-03-02T09:01:00,000000+00:00 hello\n"),
        ("dmesg -C; dmesg", ""),
        ("systemctl show -P MainPID kubelet", "812\n"),
        ("systemctl list-units --type=service --no-legend | grep -c running", "12\n"),
    ],
)
def test_the_journal_and_the_ring_buffer_by_urgency(shell: NodeShell, line: str, said: str) -> None:
    machine = shell.host
    assert isinstance(machine, Machine)
    machine.kernel("hello", "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [x:1]")
    machine.kernel("Out of memory: Killed process 1 (x)")
    out = shell.sh(line).stdout
    assert out.startswith(said) if said else out == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("dmesg -Z", "dmesg: invalid option -- 'Z'"),
        ("journalctl -o nope", "Unknown output format 'nope'."),
        ("journalctl -p nope", "Unknown log level nope"),
        ("systemctl --nope", "unrecognized option '--nope'"),
        ("vmstat -Z", "vmstat: invalid option -- 'Z'"),
        ("free -x", "free: invalid option -- 'x'"),
        ("top -q", "invalid option -- 'q'"),
        ("ps -Z", "unsupported SysV option"),
        ("ps -eo nope", 'unknown user-defined format specifier "nope"'),
        ("ss --nope", "ss: unrecognized option '--nope'"),
        ("ip -x a", 'Option "-x" is unknown'),
        ("ip link show eth9", 'Device "eth9" does not exist.'),
        ("tc -Z qdisc", 'Option "-Z" is unknown'),
        ("conntrack -L -Q", "unknown option `-Q'"),
        ("lsof -Z", "illegal option character: Z"),
        ("crictl ps --nope", "flag provided but not defined: -nope"),
        ("mpstat -X", "Usage: mpstat"),
        ("sar", "Please check if data collecting is enabled"),
        ("chronyc nope", ""),
    ],
)
def test_what_a_program_does_not_know_it_refuses(shell: NodeShell, line: str, said: str) -> None:
    result = shell.sh(line)
    assert said in result.stderr
    assert result.exit_code != 0
