"""Which program an image runs, and which images the registries have."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol

from simcluster.engine import FlatDict, Simulation
from simcluster.engine.content import UnknownName
from simcluster.engine.discovery import packages_in
from simcluster.models.apps.behaviour import Application, Behaviour, StoreLoad
from simcluster.models.apps.costs import costed
from simcluster.models.apps.defects import Defect
from simcluster.models.apps.folder import AppFolder
from simcluster.models.apps.generic import GenericProgram
from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.stores.clientshell import ClientShell
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagefacts import ImageFacts, facts_of
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.process import StartFailure
from simcluster.models.machine.program import Program
from simcluster.models.machine.shell.container import ShellProgram, can_run
from simcluster.models.programs.interpreters import executed
from simcluster.models.programs.table import program_of
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.userland.outcome import Outcome

#: Kinds of stores whose images bring clients, and the servers in them, by all their names.
_WITH_CLIENTS = ("mongod", "postgres", "mysqld", "redis")
_STORES = ("mongod", "postgres", "mysqld", "mariadbd", "redis-server", "valkey-server")
#: Server programs that a script of an undescribed image may start by name.
_SERVERS = (
    *("apache2", "caddy", "dotnet", "envoy", "gunicorn", "haproxy", "httpd", "java", "memcached", "mongod", "mysqld"),
    *("nginx", "node", "npm", "php-fpm", "postgres", "python", "python3", "redis-server", "uvicorn"),
)


#: A behaviour, and the users' mix if it is their entry.
_Described = tuple[Behaviour, tuple[tuple[str, float], ...]]


class RepositoryFacts(NamedTuple):
    """What a registry knows of a repository: its tags and the compressed size in bytes."""

    tags: tuple[str, ...]
    size: int


class ClusterClient(Protocol):
    """A client of the API server that some images have."""

    def run(self, container: Container, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """Run it in a container; None if it is another command, or the image lacks it."""


class ImageRepositories(Protocol):
    """Registries that can be told of a repository."""

    def describe(self, repository: str, tags: tuple[str, ...], size_bytes: int) -> None:
        """A repository has these tags, each of this size."""


class AppCatalog:
    """The programs of all images: described applications, shells, and everything else.

    Attributes:
        applications: behaviour files by name.
        operators: classes of operators by the `operator` of a behaviour.
        kubectl: the one in images that bring it; None where there is no cluster.
    """

    def __init__(self, sim: Simulation, traffic: TrafficEngine, folders: Iterable[AppFolder] = ()) -> None:
        self._sim = sim
        self._traffic = traffic
        self._folders: dict[str, AppFolder] = {}  # of applications that can be deployed
        self._logic: dict[str, type[ServerProgram]] = {}
        self.operators: dict[str, type[Any]] = {}
        self.applications: dict[str, Application] = {}
        self.kubectl: ClusterClient | None = None
        self._behaviours: dict[str, _Described] = FlatDict()
        self._programs: dict[tuple[str, str], _Described] = FlatDict()  # by repository and program
        self._tags: dict[tuple[str, str], _Described] = FlatDict()  # by repository and tag
        self._releases: dict[tuple[str, str], tuple[Defect, ...]] = {}  # by repository and tag
        self._loads: dict[str, list[StoreLoad]] = {}  # what applications ask of stores, by kind
        for folder in (*generic_folders(), *folders):
            self.bring(folder)

    def bring(self, folder: AppFolder) -> None:
        """Make known what an application's folder brings. Raises ValueError: a behaviour names an unknown program."""
        self._logic |= folder.programs
        self.operators |= folder.operators
        for behaviour in folder.behaviour.images:
            if behaviour.logic and behaviour.logic not in self._logic:
                raise ValueError(f"{folder.path}: {UnknownName('logic', behaviour.logic, [*self._logic])}")
        self.add(folder.behaviour)
        if folder.text("manifests.yaml"):
            self._folders[folder.behaviour.application] = folder

    def add(self, application: Application) -> None:
        """Make an application's images known."""
        self.applications[application.application] = application
        seen: set[tuple[str, str]] = set()
        for behaviour in application.images:
            described = (behaviour, application.mix_of(behaviour.name))
            for repository in behaviour.image.repositories:
                # The first program of an image is the one it runs by itself; others are asked for by name.
                if (repository, "") not in seen:
                    self._behaviours[repository] = described
                for tag in behaviour.image.tags:
                    if (repository, tag) not in seen:
                        self._tags[repository, tag] = described
                self._programs[repository, behaviour.program] = described
                seen |= {(repository, tag) for tag in ("", *behaviour.image.tags)}
        for load in application.stores:
            self._loads.setdefault(load.store, []).append(load)

    def apps(self) -> list[str]:
        """Names of the applications that can be deployed."""
        return sorted(self._folders)

    def folder(self, app: str) -> AppFolder:
        """The folder of an application that can be deployed.

        Raises:
            ValueError: there is no such application; the message lists the nearest.
        """
        if app not in self._folders:
            raise ValueError(str(UnknownName("application", app, self.apps())))
        return self._folders[app]

    def manifests(self, app: str) -> str:
        """The manifests of an application, without a namespace: YAML for `kubectl apply`. Raises ValueError."""
        return self.folder(app).text("manifests.yaml")

    def prerequisites(self, app: str) -> str:
        """What must be there before the manifests: custom resource definitions, operators; may be empty."""
        return self._folders[app].text("prerequisites.yaml")

    def behaviour(self, image: str) -> Behaviour | None:
        """How an image behaves, if somebody described it."""
        found = self._described(image, ())
        return found[0] if found is not None else None

    def describe(self, repository: str) -> RepositoryFacts | None:
        """Tags, released ones too, and size of a described repository; None if nobody described it."""
        known = repository_of(repository)
        found = self._described(repository, ())
        if found is None:
            return None
        tags = (tag for name, tag in self._tags if name == known)
        return RepositoryFacts(tuple(tags), found[0].image.size)

    def publish(self, registry: ImageRepositories) -> None:
        """Tell the registries of every described image but the cluster's own, which anybody can pull."""
        for application in self.applications.values():
            if application.application == "system":
                continue
            for behaviour in application.images:
                image = behaviour.image
                for repository in image.repositories:
                    full = repository if "." in repository.partition("/")[0] else _on_docker_hub(repository)
                    registry.describe(full, image.tags, image.size)

    def release(self, registry: ImageRepositories, image: str, tag: str, *defects: Defect) -> None:
        """A new version of a described program comes out, and the registries have it.

        Args:
            image: a reference in full, of the program of which it is a version.

        Raises:
            ValueError: nobody described the repository, or it has such a tag.
        """
        repository = repository_of(image)
        described = self._described(image, ())
        if described is None:
            raise ValueError(f"nothing is known of how {repository} behaves")
        if (repository, tag) in self._tags:
            raise ValueError(f"{repository} has a tag {tag} already")
        self._releases[repository, tag] = defects
        self._tags[repository, tag] = described
        full = repository if "." in repository.partition("/")[0] else _on_docker_hub(repository)
        registry.describe(full, (tag,), described[0].image.size)

    @property
    def releases(self) -> Mapping[tuple[str, str], tuple[Defect, ...]]:
        """What versions do wrong that came out by `release`, by repository and tag."""
        return self._releases

    def program_for(self, container: Container) -> Program:
        """The program of a container that is about to start.

        Raises:
            StartFailure: a described image has no such entry point.
        """
        spec = container.spec
        words = (*spec.command, *spec.args)
        found = self._described(spec.image, spec.command)
        facts = facts_of(spec.image) if found is None else None
        if facts is not None:
            return self._public(container, facts)
        if spec.command or (words and (found is None or _instead(found[0], words))):
            if can_run(container, words):
                if found is not None and found[0].data_store in _WITH_CLIENTS:
                    return ClientShell(container, words, self, found[0].data_store)
                return ShellProgram(container, words, self)
            if found is not None and _base_name(words[0]) != found[0].program:
                raise StartFailure(f'exec: "{words[0]}": {_missing(words[0])}')
        if found is not None:
            return self._server(container, found, spec.environment)
        return GenericProgram(container, self._traffic)

    def _public(self, container: Container, facts: ImageFacts) -> Program:
        """The program of an image that everybody knows. Raises StartFailure: it has none of that name."""
        argv = facts.argv(container.spec.command, container.spec.args)
        if not argv or (argv == facts.cmd and argv[-1].endswith("sh")):
            return ShellProgram(container, ("true",), self)  # nothing to run, or a shell that reads nothing
        entry = facts.entrypoint[:1] if argv[0] in facts.entrypoint and len(argv) > 1 else ()
        if entry == ("/entrypoint.sh",):
            argv = argv[1:] if can_run(container, argv[1:]) else ("curl", *argv[1:])
        elif entry and entry[0].endswith("entrypoint.sh") and _base_name(argv[1]) not in facts.programs:
            if not can_run(container, argv[1:]):
                said = f"{argv[0]}: 47: exec: {argv[1]}: not found"
                return ShellProgram(container, ("sh", "-c", f"echo {shlex.quote(said)} >&2; exit 127"), self)
            argv = argv[1:]
        name = _base_name(argv[0])
        found: Program | None = None
        if name in facts.programs or entry or (facts.base in ("alpine", "busybox") and name in ("httpd", "busybox")):
            found = program_of(container, argv, facts, self._traffic, host=self)
        if found is None and facts.base != "none" and can_run(container, argv):
            found = ShellProgram(container, argv, self)
        if found is None:
            raise StartFailure(f'exec: "{argv[0]}": {_missing(argv[0])}')
        return found

    def program_named(self, container: Container, argv: tuple[str, ...], environment: dict[str, str]) -> Program | None:
        """A program that a script starts; None if the image has none of this name."""
        found = self._described(container.spec.image, argv)
        name = _base_name(argv[0])
        if found is not None:
            return self._server(container, found, environment) if name == found[0].program else None
        facts = facts_of(container.spec.image)
        has = facts is None or name in facts.programs or (facts.base in ("alpine", "busybox") and name == "httpd")
        program = program_of(container, argv, facts, self._traffic, environment, self) if has else None
        if program is not None or facts is not None:
            return program
        return GenericProgram(container, self._traffic, environment) if name in _SERVERS or "/" in argv[0] else None

    def client(self, container: Container, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """A client of the cluster that the image has, run at once; None if this is none."""
        found = executed(container, argv, stdin)
        return found if found is not None or self.kubectl is None else self.kubectl.run(container, argv, stdin)

    def _described(self, image: str, words: tuple[str, ...]) -> _Described | None:
        """The program of an image that a command names, or the one it runs by itself."""
        repository = repository_of(image)
        named = self._programs.get((repository, _base_name(words[0]))) if words else None
        return named or self._tags.get((repository, tag_of(image))) or self._behaviours.get(repository)

    def _server(self, container: Container, found: _Described, environment: dict[str, str]) -> Program:
        behaviour, mix = found
        if behaviour.data_store in self._loads:
            behaviour = self._loaded(behaviour)
        defects = self._releases.get((repository_of(container.spec.image), tag_of(container.spec.image)))
        if defects is not None:
            behaviour = behaviour.model_copy(update={"defects": defects})
        behaviour = costed(behaviour, container.spec.pod_name, self._sim.parameters)
        kind = self._logic.get(behaviour.logic or behaviour.data_store, ServerProgram)
        return kind(container, self._traffic, behaviour, mix, environment)

    def _loaded(self, behaviour: Behaviour) -> Behaviour:
        """A store with all that applications ask of its kind; who was added later says it last."""
        operations = dict(behaviour.operations)
        data = dict(behaviour.data)
        for load in self._loads[behaviour.data_store]:
            operations |= load.operations
            data |= load.data
        return behaviour.model_copy(update={"operations": operations, "data": data})


@cache
def generic_folders() -> tuple[AppFolder, ...]:
    """What no single application owns: data stores, and the cluster's own programs."""
    return tuple(AppFolder.of(package) for package in packages_in("simcluster.models.apps"))


def tag_of(image: str) -> str:
    """The tag of an image reference; `latest` if it has none.

    >>> tag_of("localhost:5000/a/b"), tag_of("redis:alpine@sha256:12")
    ('latest', 'alpine')
    """
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2] or "latest"


def _on_docker_hub(repository: str) -> str:
    return f"docker.io/{repository}" if "/" in repository else f"docker.io/library/{repository}"


def _base_name(program: str) -> str:
    return program.rpartition("/")[2]


def _instead(described: Behaviour, words: tuple[str, ...]) -> bool:
    """Whether arguments name another program, which the entry point of a store's image runs instead of its own."""
    name = _base_name(words[0])
    own = name in _STORES or name == described.program or name.startswith("-") or name.endswith((".conf", ".sh"))
    return described.data_store in _WITH_CLIENTS and not own


def _missing(program: str) -> str:
    """What runc says of a program that is not there."""
    if "/" in program:
        return f"stat {program}: no such file or directory"
    return "executable file not found in $PATH"
