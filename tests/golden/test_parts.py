"""The harness's parts: comparison, shims' messages, files of a working directory, clocks, conventions."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.imagereference import parse_image
from simcluster.models.machine.images import PullError
from simcluster.session.deadline import DeadlineClock
from simcluster.surface.protocols import Interrupted
from simcluster.testing.golden import Verdict, compare, shims
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.golden.desk import FolderFiles
from simcluster.testing.golden.normalising import normalise
from simcluster.testing.golden.reasons import reason
from simcluster.testing.golden.server import COMMAND_NS, WRITE_NS, CommandServer, call_of, duration_ns
from simcluster.testing.golden.transcripts import Output, read_output


def verdict(before: str, after: str, *, code: int = 0) -> Verdict:
    return compare(Output(before, "", 0), Output(after, "", code), normalise)[0]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\n", "a\n", Verdict.EQUAL),
        ("web 1/1 Running 0 5s\n", "web 1/1 Running 0  2m3s\n", Verdict.NORMALISED),
        ("web-75cd8c7b4-x2b4c\n", "web-6d8c79b5f-zzzzz\n", Verdict.NORMALISED),
        ("a\nb\n", "b\na\n", Verdict.LINES),
        ("a\nb\nb\n", "a\na\nb\n", Verdict.SET),
        ("a\n", "b\n", Verdict.DIFFERENT),
    ],
)
def test_verdicts(before: str, after: str, expected: Verdict) -> None:
    assert verdict(before, after) is expected


def test_exit_codes_count() -> None:
    assert verdict("a\n", "a\n", code=1) is Verdict.DIFFERENT
    assert compare(None, Output("", "", 0), normalise) == (Verdict.MISSING, "")


def test_output_files(tmp_path: Path) -> None:
    assert read_output(tmp_path / "001_x") is None
    (tmp_path / "001_x.err").write_text("no\n")
    (tmp_path / "001_x.rc").write_text("3\n")
    output = read_output(tmp_path / "001_x")
    assert output is not None
    assert output.text() == "[.out]\n[.err]\nno\n[.rc]\n3\n"


class Wire:
    """A socket that has received something."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def recv(self, size: int, /) -> bytes:
        size = min(size, 3)  # in pieces, as sockets may
        piece, self.data = self.data[:size], self.data[size:]
        return piece


def test_messages_of_the_shims() -> None:
    fields = [b"kubectl", b"/work", b"vi", b"1", b"stdin", b"1", b"/dev/fd/63", b"text", b"apply", b"-f", b"-"]
    body = shims.encode(fields)
    assert shims.receive(Wire(b"%08x" % len(body) + body)) == fields
    call = call_of(fields)
    assert (call.program, call.stdin, call.files, call.words) == (
        "kubectl",
        "stdin",
        {"/dev/fd/63": "text"},
        ["apply", "-f", "-"],
    )
    with pytest.raises(ConnectionError):
        shims.receive(Wire(b"0000"))


def test_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text("a: 1\n")
    files = FolderFiles(tmp_path, {"/dev/fd/63": "b"})
    assert (files["sub/a.yaml"], files[str(tmp_path / "sub" / "a.yaml")], files["/dev/fd/63"]) == ("a: 1\n",) * 2 + (
        "b",
    )
    assert list(files) == ["/dev/fd/63", "sub/a.yaml"]
    assert "missing" not in files


def test_durations() -> None:
    assert [duration_ns(text) for text in ("2", "0.5", "3s", "2m")] == [
        2 * SECOND,
        SECOND // 2,
        3 * SECOND,
        120 * SECOND,
    ]


@pytest.fixture(scope="module")
def world() -> RecordedWorld:
    return RecordedWorld()


def test_clock_with_a_limit(world: RecordedWorld) -> None:
    clock = DeadlineClock(world, world.sim.now + SECOND, 124)
    clock.advance(SECOND // 2)
    with pytest.raises(Interrupted) as caught:
        clock.advance(10 * SECOND)
    assert caught.value.exit_code == 124
    assert clock.now == clock.deadline_ns


@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("shop/cart:does-not-exist", "code = NotFound"),
        ("private/cart:1.0", "pull access denied"),
        ("unreachable.example.com/cart:1.0", "no such host"),
    ],
)
def test_images_by_convention(world: RecordedWorld, image: str, text: str) -> None:
    with pytest.raises(PullError, match=text):
        world.registry.resolve(parse_image(image))
    assert world.registry.resolve(parse_image("shop/cart:1.0")).digest.startswith("sha256:")


def test_conventions_of_containers(world: RecordedWorld) -> None:
    pods = """
apiVersion: v1
kind: Pod
metadata: {name: stress}
spec: {containers: [{name: c, image: "x/stress:1", command: [stress], resources: {limits: {memory: 50Mi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: offline, annotations: {fake.io/sandbox-error: cni}}
spec: {containers: [{name: c, image: "x/app:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: absent}
spec: {containers: [{name: c, image: "x/app:1", command: [/no-such-binary]}]}
"""
    world.apply(pods)
    world.run_for(5 * SECOND)
    kubectl = world.kubectl()
    events = kubectl.run("get events --field-selector type=Warning -o custom-columns=R:.reason --no-headers").stdout
    assert "FailedCreatePodSandBox" in events
    last = kubectl.run("get pod stress -o jsonpath={.status.containerStatuses[0].lastState.terminated.reason}").stdout
    assert last == "OOMKilled"
    logged = kubectl.run("get pod absent -o jsonpath={.status.containerStatuses[0].state}").stdout
    assert "stat /no-such-binary: no such file or directory" in logged


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("-Node: <WORKER>/10.0.0.12\n+Node: <WORKER>/10.0.0.13", "node chosen among equals"),
        ("-crasher 0/1 Error 1 (<AGE> ago)\n+crasher 0/1 Error 0 <AGE>", "state or count at a boundary of timing"),
        ("-Waiting for deployment spec update to be observed...", "lag of controllers, and updates seen as one"),
        ("- Resource Version: 4888\n+ Resource Version: 4130", "value that the rules of comparison leave in"),
        ("-replicas: 3\n+replicas: 4", "unexplained"),
        ("-Node: <WORKER>/10.0.0.12\n-replicas: 3", "unexplained"),
    ],
)
def test_reasons(changed: str, expected: str) -> None:
    assert reason(f"--- recorded\n+++ simulated\n@@ -1,2 +1,2 @@\n{changed}", reordered=False) == expected
    assert reason(changed, reordered=True) == "order within an instant"


def test_writes_of_one_command_take_their_time(world: RecordedWorld, tmp_path: Path) -> None:
    server = CommandServer(world)
    began = world.sim.now
    maps = "".join(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{n}}}\n---\n" for n in range(3))
    call = call_of([b"kubectl", bytes(tmp_path), b"", b"1", maps.encode(), b"0", b"apply", b"-f", b"-"])
    reply = server.serve(call)
    assert reply.code == 0, reply
    assert world.sim.now - began == COMMAND_NS + 2 * WRITE_NS
