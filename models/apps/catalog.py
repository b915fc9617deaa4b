"""Which program an image runs, and which images the registries have."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import Simulation
from simcluster.models.apps.behaviour import Application, Behaviour
from simcluster.models.apps.datastore import RedisProgram
from simcluster.models.apps.documents import load_document
from simcluster.models.apps.generic import GenericProgram
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.program import Program
from simcluster.models.traffic.engine import TrafficEngine

if TYPE_CHECKING:
    from simcluster.models.machine.shell import ShellProgram

#: Folders of this package with a `behaviour.yaml`.
APPLICATIONS = ("online_boutique", "system")
_SHELLS = ("sh", "bash", "ash", "dash", "busybox")
#: Programs of base images that are no servers: the shell model runs them literally.
_TOOLS = ("sleep", "tail", "cat", "echo", "true", "false", "date", "env", "ls", "printf", "test", "touch", "yes")


class ImageFacts(NamedTuple):
    """What a registry knows of a repository: its tags and the compressed size in bytes."""

    tags: tuple[str, ...]
    size: int


class AppCatalog:
    """The programs of all images: described applications, shells, and everything else.

    Attributes:
        applications: behaviour files by name.
    """

    def __init__(self, sim: Simulation, traffic: TrafficEngine) -> None:
        self._sim = sim
        self._traffic = traffic
        self.applications: dict[str, Application] = {}
        self._behaviours: dict[str, tuple[Behaviour, tuple[tuple[str, float], ...]]] = {}
        for name in APPLICATIONS:
            self.add(load_application(name))

    def add(self, application: Application) -> None:
        """Make an application's images known."""
        self.applications[application.application] = application
        for behaviour in application.images:
            self._behaviours[behaviour.image.repository] = (behaviour, application.mix_of(behaviour.name))

    def behaviour(self, image: str) -> Behaviour | None:
        """How an image behaves, if somebody described it."""
        found = self._behaviours.get(repository_of(image))
        return found[0] if found is not None else None

    def describe(self, repository: str) -> ImageFacts | None:
        """Tags and size of a described repository; None if nobody described it."""
        found = self._behaviours.get(repository_of(repository))
        return ImageFacts(found[0].image.tags, found[0].image.size) if found is not None else None

    def tags(self, repository: str) -> tuple[str, ...] | None:
        """Tags that exist in a described repository; None if nobody described it."""
        facts = self.describe(repository)
        return facts.tags if facts is not None else None

    def program_for(self, container: Container) -> Program:
        """The program of a container that is about to start."""
        spec = container.spec
        found = self._behaviours.get(repository_of(spec.image))
        if runs_shell(spec.command, spec.args, described=found is not None):
            return _shell(container)
        if found is None:
            return GenericProgram(container, self._traffic, self._traffic.network)
        behaviour, mix = found
        kind = RedisProgram if behaviour.data_store == "redis" else ServerProgram
        return kind(container, self._traffic, behaviour, mix)


def load_application(name: str) -> Application:
    """The behaviour of an application of this package.

    Raises:
        DocumentError: its file is wrong.
    """
    file = resources.files("simcluster.models.apps").joinpath(name, "behaviour.yaml")
    return load_document(file.read_text(), Application, f"models/apps/{name}/behaviour.yaml")


def repository_of(image: str) -> str:
    """The repository of an image reference, without Docker Hub's prefixes, tag and digest.

    >>> repository_of("docker.io/library/redis:alpine"), repository_of("localhost:5000/a/b")
    ('redis', 'localhost:5000/a/b')
    """
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    name = head + slash + last.partition(":")[0]
    for prefix in ("docker.io/library/", "docker.io/", "library/"):
        name = name.removeprefix(prefix)
    return name


def runs_shell(command: tuple[str, ...], args: tuple[str, ...], *, described: bool) -> bool:
    """Whether a container runs a script or a small tool instead of its image's program.

    `args` alone are handed to the image's own entry point, which is a shell only in base
    images; nobody described those.
    """
    words = command or (() if described else args)
    if not words:
        return False
    program = words[0].rpartition("/")[2]
    return program in _SHELLS or program in _TOOLS


def _shell(container: Container) -> ShellProgram:
    from simcluster.models.machine.shell import ShellProgram

    return ShellProgram(container)
