"""Which program an image runs, and which images the registries have."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple, Protocol

from simcluster.engine import Simulation
from simcluster.models.apps.admission import PolicyWebhookProgram
from simcluster.models.apps.behaviour import Application, Behaviour
from simcluster.models.apps.datastore import RedisProgram
from simcluster.models.apps.documents import load_document
from simcluster.models.apps.generic import GenericProgram
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.program import Program, StartFailure
from simcluster.models.machine.shell import ShellProgram, can_run
from simcluster.models.traffic.engine import TrafficEngine

#: Folders of this package with a `behaviour.yaml`.
APPLICATIONS = ("online_boutique", "policy_webhook", "system")
#: Images whose entry point is a shell or an interpreter: without a terminal it ends at once.
_BASE_IMAGES = ("alpine", "bash", "busybox", "centos", "debian", "fedora", "golang", "node", "python", "ubuntu")
#: Server programs that a script of an undescribed image may start by name.
_SERVERS = (
    *("apache2", "caddy", "dotnet", "envoy", "gunicorn", "haproxy", "httpd", "java", "memcached", "mongod", "mysqld"),
    *("nginx", "node", "npm", "php-fpm", "postgres", "python", "python3", "redis-server", "uvicorn"),
)


class ImageFacts(NamedTuple):
    """What a registry knows of a repository: its tags and the compressed size in bytes."""

    tags: tuple[str, ...]
    size: int


class ImageRepositories(Protocol):
    """Registries that can be told of a repository."""

    def describe(self, repository: str, tags: tuple[str, ...], size_bytes: int) -> None:
        """A repository has these tags, each of this size."""


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

    def apps(self) -> list[str]:
        """Names of the applications that can be deployed."""
        return sorted(name for name in self.applications if _manifests_of(name).is_file())

    def manifests(self, app: str) -> str:
        """The manifests of an application, without a namespace: YAML for `kubectl apply`.

        Raises:
            ValueError: there is no such application; the message lists the nearest.
        """
        if app not in self.apps():
            near = difflib.get_close_matches(app, self.apps(), n=3) or self.apps()
            raise ValueError(f"unknown application {app!r}; did you mean {', '.join(near)}?")
        return _manifests_of(app).read_text()

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

    def publish(self, registry: ImageRepositories) -> None:
        """Tell the registries of every described image but the cluster's own, which anybody can pull."""
        for application in self.applications.values():
            if application.application == "system":
                continue
            for behaviour in application.images:
                image = behaviour.image
                full = (
                    image.repository if "." in image.repository.partition("/")[0] else _on_docker_hub(image.repository)
                )
                registry.describe(full, image.tags, image.size)

    def program_for(self, container: Container) -> Program:
        """The program of a container that is about to start.

        Raises:
            StartFailure: a described image has no such entry point.
        """
        spec = container.spec
        found = self._behaviours.get(repository_of(spec.image))
        words = (*spec.command, *spec.args)
        if spec.command or (found is None and words):
            if can_run(container, words):
                return ShellProgram(container, words, self)
            if found is not None and _base_name(words[0]) != found[0].program:
                raise StartFailure(f'exec: "{words[0]}": {_missing(words[0])}')
        if found is not None:
            return self._server(container, found, spec.environment)
        if not words and repository_of(spec.image) in _BASE_IMAGES:
            return ShellProgram(container, ("true",), self)
        return GenericProgram(container, self._traffic)

    def program_named(self, container: Container, argv: tuple[str, ...], environment: dict[str, str]) -> Program | None:
        """A program that a script starts; None if the image has none of this name."""
        found = self._behaviours.get(repository_of(container.spec.image))
        name = _base_name(argv[0])
        if found is not None:
            return self._server(container, found, environment) if name == found[0].program else None
        return GenericProgram(container, self._traffic, environment) if name in _SERVERS or "/" in argv[0] else None

    def _server(
        self, container: Container, found: tuple[Behaviour, tuple[tuple[str, float], ...]], environment: dict[str, str]
    ) -> Program:
        behaviour, mix = found
        kind: type[ServerProgram] = RedisProgram if behaviour.data_store == "redis" else ServerProgram
        if behaviour.admission:
            kind = PolicyWebhookProgram
        return kind(container, self._traffic, behaviour, mix, environment)


@cache
def load_application(name: str) -> Application:
    """The behaviour of an application of this package; immutable, so read once per process.

    Raises:
        DocumentError: its file is wrong.
    """
    file = resources.files("simcluster.models.apps").joinpath(name, "behaviour.yaml")
    return load_document(file.read_text(), Application, f"models/apps/{name}/behaviour.yaml")


def _manifests_of(app: str) -> Traversable:
    return resources.files("simcluster.models.apps").joinpath(app.replace("-", "_"), "manifests.yaml")


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


def _on_docker_hub(repository: str) -> str:
    return f"docker.io/{repository}" if "/" in repository else f"docker.io/library/{repository}"


def _base_name(program: str) -> str:
    return program.rpartition("/")[2]


def _missing(program: str) -> str:
    """What runc says of a program that is not there."""
    if "/" in program:
        return f"stat {program}: no such file or directory"
    return "executable file not found in $PATH"
