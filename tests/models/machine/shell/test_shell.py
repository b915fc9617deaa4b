"""Shell scripts as entry points and as commands inside containers."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from simcluster.engine import SECOND, Simulation, fork
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.containerspec import ContainerSpec, Mount
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.network import Network, ServiceKey
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program
from simcluster.models.machine.shell.container import ShellProgram, can_run
from simcluster.models.userland.grammar import compile_script
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.outcome import Outcome


class Node:
    """The part of a machine a container uses."""

    cpu_cores = 4

    def __init__(self) -> None:
        self.network = Network()
        self.cpu = SimpleNamespace(halted={})
        self.container_memory = self.host_memory = self.throttled_ns = 0
        self.cpu_speed = 1.0
        self.memory_bytes = 1 << 40

    def cpu_share(self, container: Container) -> float:
        return container.spec.cpu_limit or 4.0

    def report_demand(self, container: Container, cores: float) -> None:
        pass

    def release(self, container: Container) -> None:
        pass

    def out_of_memory(self, container: Container) -> None:
        container.exit(137, "OOMKilled")


class Idle(Program):
    """A server of the image."""

    def start(self) -> None:
        self.container.write("listening")

    def terminate(self) -> None:
        self.container.exit(0)

    def listens_on(self, port: int) -> bool:
        return port == 8080

    def answer(self, call: Call) -> Answer:
        return Answer("ok", 200 if call.path == "/" else 404, f"hello {call.path}\n", 3_000_000)


class Catalog:
    def program_named(self, container: Container, argv: tuple[str, ...], environment: dict[str, str]) -> Program | None:
        return Idle(container) if argv[0] == "myserver" else None

    def client(self, container: Container, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        return None


def make(*argv: str, env: dict[str, str] | None = None, mounts: tuple[Mount, ...] = (), **spec: Any) -> Container:
    sim = Simulation(1)
    node = Node()
    sandbox = Sandbox("shop", "web-0", "uid", "worker-1", "10.244.1.7")
    node.network.attach("10.244.1.7", sandbox)
    container = Container(
        sim,
        cast(Any, node),
        sandbox,
        ContainerSpec(
            "shop", "web-0", "uid", "app", "acme/tools:1", argv, env=tuple((env or {}).items()), mounts=mounts, **spec
        ),
        "c1",
    )
    sandbox.containers["app"] = container
    container.program = ShellProgram(container, argv, Catalog())
    return container


def log_of(container: Container) -> list[str]:
    return [line.text for line in container.log.read()]


def executed(container: Container, argv: list[str]) -> tuple[str, str, int]:
    """What a command of the image prints, and its status."""
    result = execute.run(container, argv)
    assert result is not None, argv
    return result[:3]


@pytest.mark.parametrize(
    ("image", "shell", "said"),
    [
        ("debian:12", "bash", "y\nbash: line 1: nope: command not found\n"),
        ("debian:12", "sh", "sh: 1: declare: not found\n\nsh: 1: nope: not found\n"),
        ("busybox:1.36", "sh", "sh: declare: not found\n\nsh: nope: not found\n"),
    ],
)
def test_which_shell_answers_is_the_image_and_the_command(image: str, shell: str, said: str) -> None:
    container = make("sleep", "99")
    container.spec = replace(container.spec, image=image)
    script = "declare -A m=([x]=y) 2>&1; echo ${m[x]}; nope 2>&1" if shell == "bash" else (
        "declare -A m 2>&1; echo $m; nope 2>&1")  # fmt: skip
    assert executed(container, [shell, "-c", script])[0] == said


def run(script: str, seconds: float = 3600, **more: Any) -> Container:
    container = make("sh", "-c", script, **more)
    container.start()
    container.sim.run_for(int(seconds * SECOND))
    return container


@pytest.mark.parametrize(
    ("script", "code", "lines"),
    [
        ("echo finished", 0, ["finished"]),
        ("exit 42", 42, []),
        ("echo side; exit 7", 7, ["side"]),
        ("echo 'fatal: no db' >&2; exit 1", 1, ["fatal: no db"]),
        ("false && echo no || echo yes", 0, ["yes"]),
        ("true && false; echo $?", 0, ["1"]),
        ("X=5; Y=$((X * 2 + 1)); echo $Y ${Y:-none} ${Z:-none} ${#Y}", 0, ["11 11 none 2"]),
        ("for i in 1 2 3; do echo -n $i; done; echo", 0, ["123"]),
        ("for i in $(seq 3); do [ $i -eq 2 ] && continue; echo $i; done", 0, ["1", "3"]),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; echo $i", 0, ["3"]),
        ("i=0; until [ $i -ge 2 ]; do i=$((i+1)); done; echo $i", 0, ["2"]),
        ("while true; do echo once; break; done; echo end", 0, ["once", "end"]),
        ("if [ -f /etc/none ]; then echo a; elif test 1 = 1; then echo b; else echo c; fi", 0, ["b"]),
        ("case $HOSTNAME in db*) echo db;; web-*|x) echo web;; esac", 0, ["web"]),
        ("f() { echo got $1 $#; return 3; }; f a b; echo $?", 0, ["got a 2", "3"]),
        ("echo hello | tr a-z A-Z | sed 's/LL/l-l/'", 0, ["HEl-lO"]),
        ("printf '%s=%d\\n' a 1 b 2", 0, ["a=1", "b=2"]),
        ("echo one > /tmp/x; echo two >> /tmp/x; cat /tmp/x | wc -l; cat < /tmp/x", 0, ["2", "one", "two"]),
        ("cat <<EOF\nhi $HOSTNAME\nEOF\necho after", 0, ["hi web-0", "after"]),
        ("cat <<'EOF'\n$HOME\nEOF", 0, ["$HOME"]),
        ('(cd /tmp; X=1; pwd); pwd; echo "[$X]"', 0, ["/tmp", "/", "[]"]),
        ("a='x  y'; echo $a; echo \"$a\"", 0, ["x y", "x  y"]),
        ("printf 'a b\\nc d\\n' | while read x y; do echo $y-$x; done", 0, ["b-a", "d-c"]),
        ('set -- p q; for v; do echo $v; done; shift; echo $1 "$@"', 0, ["p", "q", "q q"]),
        ("set -e; echo a; false; echo b", 1, ["a"]),
        ("set -e; if false; then :; fi; false || true; echo ok", 0, ["ok"]),
        ("nosuch; echo $?", 0, ["sh: nosuch: not found", "127"]),
        ("! true; echo $?", 0, ["1"]),
        ("echo ${HOSTNAME%-0} ${HOSTNAME#*-}", 0, ["web 0"]),
        ("eval 'echo a; echo b'; trap 'echo bye' EXIT; exit 3", 3, ["a", "b", "bye"]),
        ("touch /tmp/a /tmp/b; echo /tmp/*; rm /tmp/a; ls /tmp", 0, ["/tmp/a /tmp/b", "b"]),
        ("echo 'a' 2>&1 >/dev/null; cat /nope 2>/dev/null || echo missing", 0, ["missing"]),
        ("date +%s; sleep 1.5; date -u +%H:%M:%S", 0, ["1772442000", "09:00:01"]),
        ("sh -c 'echo in $0 $1; exit 4' name arg; echo $?", 0, ["in name arg", "4"]),
        ("timeout 2 sleep 10; echo $?", 0, ["143"]),
        ("X=$(false); echo $?; Y=$(echo q) ; echo $Y", 0, ["1", "q"]),
    ],
)
def test_scripts(script: str, code: int, lines: list[str]) -> None:
    container = run(script)
    assert (container.state, container.exit_code, log_of(container)) == ("exited", code, lines)


def test_time_passes_only_in_sleep() -> None:
    container = run("echo waiting; sleep 2.5; echo done; $(sleep 1); exit 3")
    assert [line.t_ns for line in container.log.read()] == [0, 5 * SECOND // 2]
    assert (container.finished_ns, container.exit_code, container.reason) == (7 * SECOND // 2, 3, "Error")


def test_endless_loop_lives_and_logs() -> None:
    container = run("while true; do date; sleep 5; done", 21)
    assert container.running
    assert log_of(container)[-1] == "Mon Mar  2 09:00:20 UTC 2026"
    assert len(log_of(container)) == 5


def test_background_and_wait() -> None:
    container = run("(sleep 3; echo child) & echo parent; wait; echo end")
    assert log_of(container) == ["parent", "child", "end"]
    assert container.finished_ns == 3 * SECOND


def test_busy_loop_burns_its_limit() -> None:
    container = run("while true; do :; done", 10.5, cpu_limit=0.5)
    assert container.running
    assert 4 * SECOND <= container.cpu_ns <= 6 * SECOND
    assert container.throttled_ns > 4 * SECOND


def test_memory_hog_is_killed() -> None:
    container = make("stress", "--vm", "1", "--vm-bytes", "250M", memory_limit=100 << 20)
    container.start()
    container.sim.run_for(5 * SECOND)
    assert (container.exit_code, container.reason) == (137, "OOMKilled")


@pytest.mark.parametrize("argv", [("sleep", "3600"), ("sh", "-c", "sleep 3600"), ("sh", "-c", "exec sleep infinity")])
def test_process_one_ignores_sigterm(argv: tuple[str, ...]) -> None:
    container = make(*argv)
    container.start()
    container.sim.run_for(SECOND)
    container.terminate()
    container.sim.run_for(30 * SECOND)
    assert container.running
    container.kill()
    assert container.exit_code == 137


def test_trap_runs_after_the_command_in_front() -> None:
    container = make("sh", "-c", "trap 'echo stopping; exit 0' TERM; while true; do sleep 4; done")
    container.start()
    container.sim.run_for(SECOND)
    container.terminate()
    container.sim.run_for(10 * SECOND)
    assert (container.exit_code, container.finished_ns, log_of(container)) == (0, 4 * SECOND, ["stopping"])


def test_trap_interrupts_wait() -> None:
    container = make("sh", "-c", "trap 'exit 5' TERM; sleep infinity & wait")
    container.start()
    container.sim.run_for(SECOND)
    container.terminate()
    assert (container.exit_code, container.finished_ns) == (5, SECOND)


def test_fork_in_the_middle_has_the_same_future() -> None:
    container = make("sh", "-c", "i=0; while [ $i -lt 9 ]; do i=$((i+1)); sleep 1; echo $i $RANDOM | cat; done; exit 6")
    container.start()
    container.sim.run_for(4 * SECOND + 7)
    twin = fork(container)
    plain = pickle.loads(pickle.dumps(container))
    for each in (container, twin, plain):
        each.sim.run_for(60 * SECOND)
    assert log_of(container) == log_of(twin) == log_of(plain)
    assert twin.exit_code == 6
    assert container.sim.digest.hex() == twin.sim.digest.hex()


def test_server_takes_the_place_of_the_shell() -> None:
    container = make("sh", "-c", "echo starting; exec myserver --port 8080")
    container.start()
    assert container.sandbox.listens_on(8080)
    assert executed(container, ["wget", "-qO-", "http://localhost:8080/x/y"]) == (
        "", "wget: server returned error: HTTP/1.1 404 Not Found\n", 1,
    )  # fmt: skip
    container.terminate()
    assert (container.state, container.exit_code) == ("exited", 0)


def test_script_of_a_config_map() -> None:
    mount = Mount("/scripts", "configMap", (("run.sh", "#!/bin/sh\necho from $0 $1\nexit 9\n"),))
    container = make("/scripts/run.sh", "now", mounts=(mount,))
    assert can_run(container, ("/scripts/run.sh",))
    container.start()
    assert (container.exit_code, log_of(container)) == (9, ["from /scripts/run.sh now"])
    refused = run("echo x > /scripts/new", mounts=(mount,))
    assert log_of(refused) == ["sh: can't create /scripts/new: Read-only file system"]


def test_files_live_as_long_as_their_layer() -> None:
    mounts = (Mount("/cache", "emptyDir", volume="cache"),)
    container = run("touch /tmp/healthy; mkdir /cache/d; echo kept > /cache/d/f; sleep 3600", 10, mounts=mounts)
    assert executed(container, ["cat", "/tmp/healthy"]) == ("", "", 0)
    again = Container(container.sim, container.machine, container.sandbox, container.spec, "c2")
    assert executed(again, ["cat", "/cache/d/f"]) == ("kept\n", "", 0)
    assert executed(again, ["cat", "/tmp/healthy"]) == (
        "",
        "cat: can't open '/tmp/healthy': No such file or directory\n",
        1,
    )


def test_commands_in_a_container() -> None:
    container = run("sleep infinity", 1, env={"A": "1", "B": "two words"})

    def out(*argv: str, stdin: str = "") -> str:
        result = execute.run(container, argv, stdin)
        assert result is not None
        return result.stdout + result.stderr

    assert out("hostname") == "web-0\n"
    assert out("printenv", "B") == "two words\n"
    assert "A=1\nB=two words\n" in out("env")
    assert out("cat", "/etc/resolv.conf").startswith("search shop.svc.cluster.local svc.cluster.local")
    assert out("sh", "-c", "echo $B | wc -w; sleep 5; exit 3") == "2\n"
    assert out("cat", stdin="given") == "given"
    assert out("ls", "/nope") == "ls: /nope: No such file or directory\n"
    assert out("sh", "-c", "echo 'x") == "sh: syntax error: unterminated quoted string\n"
    assert execute.run(container, ["no-such-tool"]) is None
    assert container.sim.now == SECOND


def test_network_tools_meet_what_is_there() -> None:
    container = make("sh", "-c", "exec myserver")
    container.start()
    network = cast(Any, container.machine).network
    network.set_name("web.shop.svc.cluster.local", "10.96.0.99")
    key = ServiceKey("10.96.0.99", 80)
    network.set_rules("worker-1", key, (("10.244.1.7", 8080),))

    def shell(command: str) -> str:
        result = execute.run(container, ["sh", "-c", command])
        assert result is not None
        return result.stdout + result.stderr

    assert shell("wget -qO- http://web/") == "hello /\n"
    assert shell("curl -s -o /dev/null -w '%{http_code}' http://web/none") == "404"
    assert shell("nslookup web").endswith("Name:\tweb.shop.svc.cluster.local\nAddress: 10.96.0.99\n\n")
    assert shell("nc -zv web 80") == "web (10.96.0.99:80) open\n"
    assert shell("curl http://nowhere") == "curl: (6) Could not resolve host: nowhere\n"
    assert shell("nslookup nowhere").endswith("** server can't find nowhere: NXDOMAIN\n\n")
    network.set_rules("worker-1", key, ())
    assert shell("wget -q -O- -T 2 web") == "wget: can't connect to remote host (10.96.0.99): Connection refused\n"
    network.set_rules("worker-1", key, (("10.244.9.9", 8080),))
    assert shell("curl -m 3 http://web") == "curl: (28) Connection timed out after 3000 milliseconds\n"


@pytest.mark.parametrize("text", ["if true; then", "echo 'x", "done", "a || ", "for x in; echo", "case x in", "( echo"])
def test_syntax_errors(text: str) -> None:
    with pytest.raises(ShellSyntaxError):
        compile_script(text)


def test_syntax_error_ends_the_container() -> None:
    container = run("if true; then echo")
    assert (container.exit_code, log_of(container)) == (
        2, ['sh: syntax error: unexpected end of file (expecting "fi")'],
    )  # fmt: skip
