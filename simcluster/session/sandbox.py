"""`simcluster.sandbox()`: a healthy empty cluster for manifests, call graphs and users of your own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.api.quantity import to_bytes
from simcluster.engine import parse_age
from simcluster.session import plainjson
from simcluster.session.clock import Clock
from simcluster.session.live import Live
from simcluster.session.load import Load
from simcluster.world import World, bootstrap
from simcluster.world.graphs import graph_in
from simcluster.world.profile import Profile
from simcluster.world.world import default_nodes


class NodeSize(NamedTuple):
    """Cores and bytes (a quantity) of each node."""

    cpu: int = 4
    memory: str = "8Gi"


class Sandbox(Live):
    """A cluster without a task: nothing is injected and nothing is graded."""

    tools = (*Live.tools, "deploy", "load")

    def __init__(
        self,
        nodes: int,
        seed: int,
        policy: Clock,
        size: NodeSize,
        *,
        telemetry: bool = False,
        age: str | None = None,
        profile: Profile | None = None,
        images: Mapping[str, str | None] | None = None,
    ) -> None:
        world = World(seed, nodes=default_nodes(nodes, size.cpu, to_bytes(size.memory)), profile=profile)
        world.registry.others_exist = True
        if images is not None:
            world.registry.only(images)
        world.apply(bootstrap.manifest("default-storage.yaml"))
        if age is not None:
            world.leap(parse_age(age))
        if telemetry:
            world.observe()
        super().__init__(world, policy)
        self.nodes, self.size, self.telemetry = nodes, size, telemetry
        self.age = age
        self.images = images
        self.profile = profile

    @property
    def alert(self) -> str:
        """Nobody was paged."""
        return ""

    def deploy(
        self, graph: str | Path | Mapping[str, Any], *, namespace: str = "default", ready_within: str = "5m"
    ) -> list[str]:
        """Put a call graph of `simcluster traffic` into the cluster: for each service a Deployment and a Service.

        Time passes until all of them are rolled out. A graph that is deployed again, changed, rolls out anew. Its
        `load`, `run` and `events` are left out: see `load`.

        Args:
            graph: its file, or the same keys as a mapping.
            ready_within: how long to wait for the pods; `0s` does not wait.

        Returns:
            The names of the Services.

        Raises:
            ValueError: the graph is wrong (file, line, and what would be right), there is no such namespace, or the API
                server refused a manifest; nothing has happened then.
            TimeoutError: the pods were not available in time; the message is what kubectl printed.
        """
        name, text = _text_of(graph)
        graph_in(text, Path(name))
        deployed = self.submit("deploy", name, namespace, text).stdout.split()
        for each in deployed if ready_within != "0s" else ():
            rolled_out = self.kubectl(f"rollout status deployment/{each} -n {namespace} --timeout={ready_within}")
            if rolled_out.exit_code:
                raise TimeoutError(f"{each}: {rolled_out.stdout}{rolled_out.stderr}".strip())
        return deployed

    def load(self, service: str, rps: float = 1.0, *, namespace: str = "default", **habits: Any) -> Load:
        """Send users to a Service, `rps` requests a second, as a Poisson stream.

        Args:
            habits: how they call, by the keys of a graph's `call:` (`timeout="1s"`, `retries={"attempts": 3}`,
                `deadline`, `cancel`, `hedge`, `breaker`, ...), and `users` (a closed loop of so many, who send `rps`
                in all while answers come at once), `mix` (operation -> weight), `clients` (programs among which they
                are spread), `node` (through which they enter). Without `timeout` they give up after 10 s.

        Returns:
            The load; its `window("10m")` tells how the users fared.

        Raises:
            ValueError: there is no such Service, it has users already, or a key or its value makes no sense.
        """
        given = {"rps": rps, **habits}
        self.submit("load", plainjson.dumps(given, "the load"), f"{namespace}/{service}")
        return self.loads[f"{namespace}/{service}"]

    @property
    def loads(self) -> dict[str, Load]:
        """All users by `NAMESPACE/SERVICE`, those of a fork too."""
        return {name: Load(self.world, users) for name, users in self.world.traffic.users.items()}

    def log_header(self) -> dict[str, Any]:
        """The header of the replay log."""
        size = {"nodes": self.nodes, **self.size._asdict()}
        begun = {**size, **({"telemetry": True} if self.telemetry else {}), **({"age": self.age} if self.age else {})}
        begun |= {"images": dict(self.images)} if self.images is not None else {}
        begun |= {"parameters": dict(self.profile.parameters)} if self.profile is not None else {}
        return {"task": None, **begun, "seed": self.world.sim.seed, **super().log_header()}


def sandbox(
    nodes: int = 3,
    *,
    seed: int = 0,
    clock: Clock | None = None,
    telemetry: bool = False,
    age: str | None = None,
    profile: Profile | None = None,
    images: Mapping[str, str | None] | Iterable[str] | None = None,
    **size: Any,
) -> Sandbox:
    """A healthy empty cluster: a tainted control-plane node and `nodes` workers.

    With 0 there is one node without the taint, which runs everything. Claims that name no class are given a
    directory of a node, by the default StorageClass `standard`. With `telemetry` Prometheus and its exporters run in
    the namespace `observe`. Images of any registry's host exist, as somebody's own manifests name them; of public hosts
    those whose names and tags look published. A registry whose images a manifest pulls with `imagePullSecrets` is
    private: one of these Secrets has to be for its host.

    Args:
        age: for how long it has been idle, such as `30d`; by default it is half a minute old.
        profile: figures of a calibrated cluster instead of the usual ones.
        images: the only images of registries that are not public, such as `["registry.acme.io/api:1.4"]`; with the
            `user:password` that a pull needs, or None, `{"registry.acme.io/api:1.4": "ci:secret"}`.
        size: `cpu`, cores of each node (4), and `memory`, their bytes as a quantity (`8Gi`). The system's daemons use
            about a tenth of a core.

    Raises:
        ValueError: an image is none, `nodes` is below zero, `cpu` is not from 1 to 1,024, `memory` not from 2Gi to
            64Ti, or `age` no age up to 300d.
        TypeError: `size` has another key.
    """
    if nodes < 0:
        raise ValueError(f"a sandbox has no fewer than 0 workers, not {nodes}")
    node = NodeSize(**size)
    if not 1 <= node.cpu <= 1024:
        raise ValueError(f"a node has 1 to 1024 cores, not {node.cpu}")
    if not 2 << 30 <= to_bytes(node.memory) <= 64 << 40:
        raise ValueError(f"a node has 2Gi to 64Ti of memory, not {node.memory}")
    if images is not None and not isinstance(images, Mapping):
        images = dict.fromkeys(images)
    return Sandbox(nodes, seed, clock or Clock(), node, telemetry=telemetry, age=age, profile=profile, images=images)


def begun_by(header: Mapping[str, Any]) -> Sandbox:
    """The sandbox that the header of a replay log describes. Raises KeyError."""
    size = {key: header[key] for key in ("cpu", "memory", "telemetry", "age", "images") if key in header}
    if "parameters" in header:
        size["profile"] = Profile(parameters=header["parameters"])
    return sandbox(header["nodes"], seed=header["seed"], **size)


def _text_of(graph: str | Path | Mapping[str, Any]) -> tuple[str, str]:
    """A name for messages, and YAML."""
    if isinstance(graph, Mapping):
        return "graph.yaml", json.dumps(dict(graph))
    try:
        return str(graph), Path(graph).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{graph}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{graph}: cannot be read: not UTF-8 text") from None
