"""A web server that listens where it is told and serves what lies in its container's files.

Requests of users go through the traffic engine at one price; a request that somebody makes by hand, a probe or another
program's gets the page that is there. Left out: ranges, compression, TLS.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import NamedTuple

from simcluster.engine import format_rfc3339
from simcluster.engine.clock import month_name
from simcluster.models.apps.behaviour import AppOperation, Behaviour, Image, Port, Sigterm, Startup
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.programs.interpreters import executed
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.operations import ANY_PATH
from simcluster.models.traffic.graph.skin import Line
from simcluster.models.userland.outcome import Outcome

#: CPU of one static page, milliseconds of a core: nginx serves some 10,000 small files a second and core.
PAGE_CPU_MS = 0.1
#: Resident memory of a small web server; a magnitude.
MEMORY_BYTES = 6 << 20
#: First port that a process without CAP_NET_BIND_SERVICE may bind (net.ipv4.ip_unprivileged_port_start).
UNPRIVILEGED_PORT = 1024
REASONS = {
    200: "OK", 201: "Created", 204: "No Content", 301: "Moved Permanently", 302: "Found", 303: "See Other",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Authorization Required",
    403: "Forbidden", 404: "Not Found", 405: "Not Allowed", 429: "Too Many Requests", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Temporarily Unavailable", 504: "Gateway Time-out",
}  # fmt: skip


class Page(NamedTuple):
    """What a request gets; `note` is what the server's error log says of it, `delay_ns` what it waited for others."""

    status: int
    body: str = ""
    content_type: str = ""
    note: str = ""
    delay_ns: int = 0


class Ended(Exception):
    """The program ends at once: what it prints on standard error, and its exit status."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


@functools.lru_cache(maxsize=256)
def described(program: str, ports: tuple[int, ...], line: str, log: tuple[str, ...]) -> Behaviour:
    """The behaviour of a web server: one operation that answers every path."""
    lines = (Line(text=line),) if line else ()
    return Behaviour(
        name=program,
        image=Image(repository=program, tags=("latest",), size=0),
        program=program,
        protocol="any",
        ports=tuple(Port(number=port) for port in ports),
        client="http",
        idle_cpu_ms=0.1,
        memory=MEMORY_BYTES,
        startup=Startup(cpu_seconds=0.02, ready_log=tuple(Line(text=text, stream="stderr") for text in log)),
        sigterm=Sigterm(),
        operations={ANY_PATH: AppOperation.model_validate({"path": "*", "work": f"{PAGE_CPU_MS}ms", "log": lines})},
    )


class WebProgram(ServerProgram):
    """A web server of a public image.

    Attributes:
        argv: its command line.
        daemon: whether it goes to the background, so that whoever started it goes on.
    """

    #: Its name; what the line of one request looks like in its log, with marks of `models.apps.marks`.
    program = "httpd"
    traffic_line = ""

    def __init__(
        self,
        container: Container,
        traffic: TrafficEngine,
        argv: tuple[str, ...],
        environment: dict[str, str] | None = None,
        workdir: str = "/",
    ) -> None:
        super().__init__(container, traffic, described(self.program, (), "", ()), (), environment)
        self.argv = argv
        self.workdir = workdir
        self.daemon = False
        self._asking = False

    @property
    def files(self) -> FileTree:
        """The container's files."""
        return FileTree(self.container)

    @abstractmethod
    def prepare(self) -> tuple[int, ...]:
        """Read arguments and configuration; the ports on which it will listen. Raises Ended."""

    @abstractmethod
    def page(self, call: Call) -> Page:
        """What a request gets now."""

    def started(self) -> tuple[str, ...]:
        """What it prints once it listens, on standard error."""
        return ()

    def access_line(self, call: Call, page: Page) -> str:
        """Its log's line of a request; empty if it writes none."""
        return ""

    def conflict(self, port: int) -> None:
        """Somebody else listens on the port. Raises Ended."""
        raise Ended(f"{self.program}: bind: Address already in use")

    def forbidden(self, port: int) -> None:
        """It may not bind so low a port. Raises Ended."""
        raise Ended(f"{self.program}: bind: Permission denied")

    def start(self) -> None:
        """Read what it is told, or say what is wrong with that and end."""
        try:
            ports = self.prepare()
            for port in ports:
                if port < UNPRIVILEGED_PORT and not self.container.may("NET_BIND_SERVICE"):
                    self.forbidden(port)
                if self._is_taken(port):
                    self.conflict(port)
        except Ended as end:
            self._end(end)
            return
        self.behaviour = described(self.program, ports, self.traffic_line, self.started())
        self._ports = dict.fromkeys(ports)
        super().start()
        if self.daemon and self.container.program is self:
            self.container.exit(0)  # the process that was started is gone, and so is the container

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """Its own command, or an interpreter of its image."""
        return self.run(argv) or executed(self.container, argv, stdin)

    def steady(self, call: Call) -> object | None:
        """Only an answer tells: files come and go."""
        return None

    def _end(self, end: Ended) -> None:
        for line in end.text.splitlines():
            self.container.write(line, "stderr")
        self.container.exit(end.code)

    def _is_taken(self, port: int) -> bool:
        sandbox = self.container.sandbox
        if sandbox.host_network:
            return bool(self.container.machine.network.sandboxes[sandbox.address].listens_on(port))
        for container in sandbox.containers.values():
            if container is not self.container and container.running and container.program.listens_on(port):
                return True
        return False

    def _operation(self, server: object, call: Call, delay: int) -> Answer:
        if self._asking:  # it asks itself for what it is asked for
            return Answer("ok", 500, "", delay)
        self._asking = True
        try:
            page = self.page(call)
        finally:
            self._asking = False
        if call.source:
            line = self.access_line(call, page)
            if page.note:
                self.container.write(page.note, "stderr")
            for each in line.splitlines():
                self.container.write(each, self.access_stream)
        body = "" if call.method == "HEAD" else page.body
        return Answer("ok", page.status, body, delay + page.delay_ns, page.content_type)

    access_stream = "stdout"

    def clf(self, call: Call, page: Page) -> str:
        """A request in the common log format."""
        size = str(len(page.body.encode())) if page.body else "0"
        stamp = clf_time(self.container.sim.now)
        return f'{call.source} - - [{stamp}] "{call.method} {call.path} HTTP/1.1" {page.status} {size}'


def clf_time(t_ns: int) -> str:
    """An instant in the common log format.

    >>> len(clf_time(0))
    26
    """
    text = format_rfc3339(t_ns)
    return f"{text[8:10]}/{month_name(int(text[5:7]))}/{text[:4]}:{text[11:19]} +0000"


def header(call: Call, name: str, default: str = "-") -> str:
    """A header of a request."""
    return next((value for key, value in call.headers if key == name), default)


def path_of(call: Call) -> str:
    """The path of a request without its query."""
    return call.path.partition("?")[0] or "/"


def content_type(path: str) -> str:
    """The media type of a file by its name.

    >>> content_type("/a/index.html"), content_type("/x")
    ('text/html', 'application/octet-stream')
    """
    suffix = path.rpartition("/")[2].rpartition(".")[2]
    known = {"html": "text/html", "htm": "text/html", "css": "text/css", "json": "application/json"}
    known |= {"txt": "text/plain", "js": "application/javascript", "xml": "text/xml"}
    return known.get(suffix, "application/octet-stream")
