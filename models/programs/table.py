"""Which program a command line of a public image starts."""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.imagefacts import ImageFacts
from simcluster.models.machine.program import Program
from simcluster.models.machine.shell.container import ProgramHost, ShellProgram
from simcluster.models.machine.shell.files import normalize
from simcluster.models.programs import python
from simcluster.models.programs.interpreters import INTERPRETERS, PYTHON, shell_of, source_of
from simcluster.models.programs.nginx import Nginx
from simcluster.models.programs.servers import Apache, BusyboxHttpd, HttpEcho, PythonServer, Scripted, Whoami
from simcluster.models.programs.web import WebProgram
from simcluster.models.traffic.cluster.engine import TrafficEngine

_SERVERS: dict[str, type[WebProgram]] = {
    "nginx": Nginx,
    "nginx-debug": Nginx,
    "httpd-foreground": Apache,
    "http-echo": HttpEcho,
    "whoami": Whoami,
}


def program_of(
    container: Container,
    argv: tuple[str, ...],
    facts: ImageFacts | None,
    traffic: TrafficEngine,
    environment: dict[str, str] | None = None,
    host: ProgramHost | None = None,
) -> Program | None:
    """The program that a command line starts; None if nothing is known of it."""
    name = argv[0].rpartition("/")[2]
    workdir = container.spec.workdir or (facts.workdir if facts is not None else "/")
    kind = _SERVERS.get(name)
    if name == "httpd":
        kind = Apache if facts is not None and "httpd-foreground" in facts.programs else BusyboxHttpd
    elif name == "busybox" and argv[1:2] == ("httpd",):
        kind, argv = BusyboxHttpd, argv[1:]
    elif name == "docker-entrypoint.sh" and facts is not None and "nginx" in facts.programs:
        kind = Nginx
    if kind is not None:
        return kind(container, traffic, argv, environment, workdir)
    if name not in INTERPRETERS:
        return None
    if name in PYTHON and "-m" in argv[:-1] and argv[argv.index("-m") + 1] == "http.server":
        return PythonServer(container, traffic, argv, environment, workdir)
    text = source_of(container, argv, workdir) if name in PYTHON else None
    try:
        serves = python.served(text, environment or container.spec.environment) if text else None
    except KeyError as missing:
        script = python.lacks(text or "", _file_of(argv, workdir), missing.args[0])
        return ShellProgram(container, ("sh", "-c", script), host)
    if serves is not None:
        words = (*argv, *(str(each) for each in serves))
        return Scripted(container, traffic, words, environment, workdir)
    if facts is None and text is None:
        return None  # what an image of somebody's own has in it is not known
    return ShellProgram(container, ("sh", "-c", shell_of(container, argv, workdir)), host)


def _file_of(argv: tuple[str, ...], workdir: str) -> str:
    """What a script is called in messages."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    return "<string>" if "-c" in argv or not words else normalize(words[0], workdir)
