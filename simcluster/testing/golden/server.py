"""The warm process: answers the shims in simulated time, one call after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from simcluster.api.request import APPLY_PATCH, Request, Response
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.process import Call as PortCall
from simcluster.session.deadline import DeadlineClock
from simcluster.surface.kubectl import Kubectl
from simcluster.testing.golden.desk import Desk, FolderFiles
from simcluster.world.world import World

#: How long a kubectl takes besides what it waits for: the recorded ones follow each other every 95 ms.
COMMAND_NS = 95 * MILLISECOND
#: What each further write of a command takes: an apply reads and writes an object in 14 to 20 ms
#: (Deployments of one file appeared 14 ms after each other in the recorded timeline).
WRITE_NS = 18 * MILLISECOND
#: curl's exit status when nobody listens.
REFUSED = 7
#: A command that would wait for ever is ended after so long.
LONGEST_NS = 150 * SECOND
_FORWARDING = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)")


class Call(NamedTuple):
    """What a shim was called with."""

    program: str
    folder: Path
    editor: str
    stdin: str
    files: dict[str, str]
    words: list[str]


def call_of(fields: list[bytes]) -> Call:
    """The call in a message."""
    texts = [field.decode(errors="surrogateescape") for field in fields]
    count = int(texts[5])
    named, words = texts[6 : 6 + 2 * count], texts[6 + 2 * count :]
    files = dict(zip(named[::2], named[1::2], strict=True))
    return Call(texts[0], Path(texts[1]), texts[2], texts[4], files, words)


@dataclass
class Reply:
    """What a shim prints. With a deadline it is held back until then (a port-forward)."""

    out: str = ""
    err: str = ""
    code: int = 0
    deadline_ns: int = 0
    ports: dict[int, tuple[Sandbox, int]] = field(default_factory=dict)

    def printed(self) -> list[bytes]:
        """What there is to print now, as fields; it is printed once."""
        texts = [mark + text.encode(errors="surrogateescape") for mark, text in ((b"1", self.out), (b"2", self.err))]
        self.out = self.err = ""
        return [text for text in texts if len(text) > 1]

    def ending(self) -> list[bytes]:
        """The rest, and the exit code."""
        return [*self.printed(), b"x%d" % self.code]


class PacedApi:
    """The API server at the end of a connection: writes of one command follow each other in time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._written = False

    def begin(self) -> None:
        """A new command begins; its first write is part of what every command takes."""
        self._written = False

    def handle(self, request: Request) -> Response:
        """Answer one request (surface.protocols.ApiEndpoint)."""
        if request.method in ("POST", "PUT", "PATCH", "DELETE"):
            if self._written:
                self.world.run_for(WRITE_NS if request.content_type != APPLY_PATCH else WRITE_NS // 2)
            self._written = True
        return self.world.api.handle(request)


class CommandServer:
    """kubectl, timeout, sleep and curl over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.api = PacedApi(world)
        self.kubectl: Kubectl = world.kubectl()
        self.kubectl.api = self.api
        self.forwards: list[Reply] = []

    def serve(self, call: Call) -> Reply:
        """Run one call."""
        match call.program:
            case "kubectl":
                return self._kubectl(call, call.words, LONGEST_NS, 1)
            case "timeout":
                return self._timeout(call)
            case "sleep":
                self.world.run_for(sum(duration_ns(word) for word in call.words))
                return Reply()
            case _:
                return self._curl(call)

    def _timeout(self, call: Call) -> Reply:
        words = call.words
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-k", "-s") else words[1:]
        limit_ns, words = duration_ns(words[0]), words[1:]
        if words[:1] == ["kubectl"]:
            return self._kubectl(call, words[1:], limit_ns, 124)
        if words[:1] == ["sleep"]:
            asked = sum(duration_ns(word) for word in words[1:])
            self.world.run_for(min(asked, limit_ns))
            return Reply(code=124 if asked > limit_ns else 0)
        return Reply("", f"timeout: failed to run command ‘{words[0]}’: No such file or directory\n", 127)

    def _kubectl(self, call: Call, words: list[str], limit_ns: int, code: int) -> Reply:
        forwarding = "port-forward" in words[:3]
        self.world.run_for(min(COMMAND_NS, limit_ns))
        self.api.begin()
        now = self.world.sim.now
        # A port-forward blocks until it is killed; others go on meanwhile.
        clock = DeadlineClock(self.world, now if forwarding else now + limit_ns, code)
        self.kubectl.clock = clock
        self.kubectl.workstation = Desk(call.folder, call.editor)
        result = self.kubectl.run(words, call.stdin, FolderFiles(call.folder, call.files))
        reply = Reply(result.stdout, result.stderr, result.exit_code)
        if forwarding and result.exit_code == code:
            reply.deadline_ns = now + limit_ns
            reply.ports = self._targets(result.stdout)
        return reply

    def _targets(self, text: str) -> dict[int, tuple[Sandbox, int]]:
        target = self.kubectl.forwarding
        if target is None:
            return {}
        for machine in self.world.machines.values():
            for sandbox in machine.runtime.sandboxes.values():
                if (sandbox.namespace, sandbox.pod_name) == target:
                    return {int(m[1]): (sandbox, int(m[2])) for m in _FORWARDING.finditer(text)}
        return {}

    def _curl(self, call: Call) -> Reply:
        url = urlsplit(next((word for word in call.words if not word.startswith("-")), ""))
        port = url.port or 80
        for forward in self.forwards:
            if port in forward.ports:
                forward.out += f"Handling connection for {port}\n"
                sandbox, target = forward.ports[port]
                container = sandbox.container_on(target)
                if container is None:
                    return Reply("", "", 52)
                return Reply(container.program.answer(PortCall("http", target, url.path or "/")).body)
        silent = any(word.startswith("-") and not word.startswith("--") and "s" in word for word in call.words)
        text = f"curl: (7) Failed to connect to {url.hostname} port {port} after 0 ms: Couldn't connect to server\n"
        return Reply("", "" if silent else text, REFUSED)


def duration_ns(text: str) -> int:
    """`2`, `0.5s`, `3m`, as sleep and timeout read it."""
    units = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
    unit = units.get(text[-1:], 0)
    return round(float(text[:-1] if unit else text) * (unit or SECOND))
