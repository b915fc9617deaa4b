"""Scripts that serve with `nc -l`, and scripts that never wait."""

from __future__ import annotations

from simcluster.engine import SECOND, fork
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import Call
from simcluster.models.machine.shell.container import ShellProgram
from tests.clusters.onemachine import one_machine, start


def script(machine: Machine, text: str, name: str = "web") -> Container:
    """A container that runs a script."""
    container = start(machine, f"first-{name}")
    container.exit(0)
    container = machine.runtime.create_container(container.sandbox, container.spec, 1)
    container.program = ShellProgram(container, ("sh", "-c", text))
    container.start()
    return container


def said(container: Container, command: str) -> str:
    result = execute.run(container, ("sh", "-c", command))
    assert result is not None
    return result.stdout + result.stderr


def lines(container: Container) -> list[str]:
    return [line.text for line in container.log.read()]


def test_a_loop_of_nc_serves_one_client_after_the_other() -> None:
    machine = one_machine()
    server = script(machine, "while true; do echo hi | nc -l -p 8080; done")
    client = start(machine, "client")
    where = server.sandbox.address
    machine.sim.run_for(10 * SECOND)
    assert server.running
    assert server.cpu_ns < SECOND // 10  # it waits, it does not spin
    for _ in range(3):
        assert said(client, f"echo question | nc {where} 8080") == "hi\n"
        machine.sim.run_for(SECOND)
    assert lines(server) == ["question"] * 3
    assert said(client, f"nc -z -v {where} 8080").endswith(" open\n")
    assert "Connection refused" in said(client, f"nc {where} 8081")


def test_a_client_is_served_once() -> None:
    machine = one_machine()
    server = script(machine, r"printf 'HTTP/1.1 201 Created\r\n\r\nyes\n' | nc -lp 8080; echo end")
    client, other = start(machine, "client"), fork(machine)
    answer = server.program.answer(Call("http", 8080, "/path", host="web"))
    assert (answer.outcome, answer.status, answer.body) == ("ok", 201, "yes\n")
    assert not server.program.listens_on(8080)
    assert "Connection refused" in said(client, f"nc {server.sandbox.address} 8080")
    machine.sim.run_for(SECOND)
    assert lines(server) == ["GET /path HTTP/1.1\r", "Host: web\r", "\r", "end"]
    assert (server.state, server.exit_code) == ("exited", 0)
    copied = other.runtime.containers()[0]
    assert copied.program.listens_on(8080)
    assert copied.program.answer(Call("tcp", 8080)).outcome == "ok"
    other.sim.run_for(SECOND)
    assert lines(copied)[-1] == "end"


def test_keeping_open_and_a_port_in_use() -> None:
    machine = one_machine()
    server = script(machine, "echo hi | nc -lk -p 9000 & sleep 1; nc -l 9000")
    machine.sim.run_for(2 * SECOND)
    assert lines(server) == ["nc: bind: Address already in use"]
    assert server.exit_code == 1
    server = script(machine, "echo hi | nc -lk -p 9000", "more")
    for _ in range(2):
        assert said(server, "nc localhost 9000") == "hi\n"
    assert server.program.listens_on(9000)


def test_somebody_who_listens_can_be_cut_off() -> None:
    server = script(one_machine(), "timeout 5 nc -l -p 8080; echo $?")
    assert server.program.listens_on(8080)
    server.sim.run_for(6 * SECOND)
    assert lines(server) == ["143"]


def test_a_loop_of_commands_that_never_waits_lets_time_pass() -> None:
    server = script(one_machine(), "while true; do echo hi | cat > /dev/null; done")
    server.sim.run_for(10 * SECOND)
    assert server.running
    assert server.cpu_ns > 5 * SECOND


def test_a_function_that_substitutes_itself_runs_out_of_processes() -> None:
    server = script(one_machine(), "f() { x=$(f); }; f; echo end")
    server.sim.run_for(SECOND)
    assert lines(server) == ["sh: can't fork: Resource temporarily unavailable", "end"]


def test_patterns_and_replacements_of_sed() -> None:
    machine = one_machine()
    server = script(machine, r'echo abc | sed "s/\(a\)b/\1/"; echo $?')
    assert lines(server) == ["ac", "0"]
    client = start(machine, "client")
    for command, shown in (
        (r"echo aXb | sed 's/\(a\)X\(b\)/\2-\1 & \&/'", "b-a aXb &\n"),
        (r"echo a+b | sed 's/a+b/x/'", "x\n"),
        (r"echo aab | sed -E 's/(a+)b/<\1>/'", "<aa>\n"),
        (r"echo 'a  1' | sed 's/[[:space:]]*[0-9]$/!/'", "a!\n"),
        (r"echo a/b/c | sed 's|/|:|2;s/a/A/'", "Ab:c\n".replace("Ab", "A/b")),
        (r"seq 5 | sed -n '2,3p;$p'", "2\n3\n5\n"),
        (r"seq 5 | sed '/2/,/4/d'", "1\n5\n"),
        (r"seq 9 | sed 2q", "1\n2\n"),
        (r"echo a | sed 's/\(a\)/\2/'", "\n"),
        (r"echo a | sed 's/[/x/'", "sed: unmatched '/'\n"),
        (r"echo a | sed 's/a'", "sed: unmatched '/'\n"),
        (r"echo hi > /tmp/f; sed -i 's/h/H/' /tmp/f; cat /tmp/f", "Hi\n"),
        (r"echo a | head -n x", "head: invalid number 'x'\n"),
    ):
        assert said(client, command) == shown, command
