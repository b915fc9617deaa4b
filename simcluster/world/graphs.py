"""Call graphs of `simcluster traffic` in a cluster: a file becomes programs and manifests, its `call:` how users call.

A service of a graph is a Deployment with a Service in front; its image is named after the graph and what stands in it,
so that a changed file that is deployed again rolls out as a new image does. Left out: the graph's own `load`, `run` and
`events`, which are the business of whoever deploys it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcluster.engine.content import ContentError, Document, model_of, nearest, parsed
from simcluster.models.apps.callgraph import application_of, as_yaml, manifests_of
from simcluster.models.traffic.cluster.operations import DEFAULT_TIMEOUT_NS
from simcluster.models.traffic.cluster.users import Habits, UserLoad
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.refusal import explained, shown
from simcluster.models.traffic.graph.spec import GraphSpec, spec_in
from simcluster.world.world import World

#: What stands for a text that came from no file.
UNNAMED = Path("graph.yaml")
#: What a load says besides how it calls.
_OWN = ("rps", "users", "mix", "clients", "node")


def graph_in(text: str, path: Path = UNNAMED) -> GraphSpec:
    """A graph of YAML text that a cluster can run.

    Raises:
        ValueError: file, line, and what would be right.
    """
    try:
        spec = spec_in(parsed(path, text, words=True))
    except ContentError as error:
        raise ValueError(str(error)) from None
    try:
        application_of(spec)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return spec


def deploy_graph(world: World, spec: GraphSpec, namespace: str) -> list[str]:
    """Apply a graph's manifests; what its programs do is known from then on.

    Returns:
        The names of its Deployments (and Services).

    Raises:
        ValueError: the API server refused a manifest.
    """
    name = _name_of(spec)
    world.catalog.add(application_of(spec, name))
    world.catalog.publish(world.registry)
    world.apply(as_yaml(manifests_of(spec, name)), namespace=namespace)
    return list(spec.services)


def _name_of(spec: GraphSpec) -> str:
    content = json.dumps(spec.model_dump(mode="json", include={"services", "network"}), sort_keys=True)
    word = re.sub(r"[^a-z0-9]+", "-", spec.name.lower()).strip("-") or "graph"
    return f"{word[:40]}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def habits_of(world: World, namespace: str, service: str, given: Mapping[str, Any]) -> Habits:
    """How users ask, by the words of a load: `rps`, `users`, `mix`, `clients`, `node`, and the keys of a `call:`.

    Raises:
        ValueError: there is no such Service or node, it has users already, a key is unknown or a value makes no sense.
    """
    _refuse_unknown(given)
    if world.api.store.get("services", namespace, service) is None:
        raise ValueError(f'services "{service}" not found in namespace {namespace}')
    if f"{namespace}/{service}" in world.traffic.users:
        raise ValueError(f"users {namespace}/{service} exist already")
    habits = Habits(rps=_number("rps", given.get("rps", 1.0)))
    if given.get("users") is not None:
        habits["concurrency"] = _whole("users", given["users"])
    if given.get("clients") is not None:
        habits["clients"] = _whole("clients", given["clients"])
    if given.get("mix") is not None:
        habits["mix"] = _mix(given["mix"])
    if given.get("node") is not None:
        if given["node"] not in world.machines:
            raise ValueError(f"node: there is no {given['node']!r}; there are {', '.join(world.machines)}")
        habits["from_node"] = given["node"]
    call = {key: value for key, value in given.items() if key not in _OWN and value is not None}
    if call:
        try:
            policy = model_of(Document(Path("load"), call, {}), Policy, explained)
        except ContentError as error:
            raise ValueError(error.problem) from None
        habits["policy"] = policy
        habits["timeout_ns"] = policy.timeout or policy.deadline or DEFAULT_TIMEOUT_NS
    return habits


def add_users(world: World, namespace: str, service: str, given: Mapping[str, Any]) -> UserLoad:
    """Send such users to a Service. Raises ValueError as `habits_of`."""
    return world.traffic.add_users(service, namespace, service, **habits_of(world, namespace, service, given))


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    known = [*_OWN, *Policy.model_fields]
    for key in given:
        if key not in known:
            close = nearest(key, known)
            offer = f"did you mean {close[0]!r}?" if close else f"a load takes {', '.join(known)}"
            raise ValueError(f"unknown key {key!r}; {offer}")


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < math.inf:
        raise ValueError(f"{key} must be above zero, not {shown(value)}")
    return float(value)


def _whole(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{key} must be a whole number of at least 1, not {shown(value)}")
    return value


def _mix(value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"mix must be a map of operations and their weights, not {shown(value)}")
    return {str(name): _number(f"mix.{name}", weight) for name, weight in value.items()}
