"""Values of parameters that are computed from the world: `${{ 2 * node_memory }}`, `${{ old }}-broken`.

What a task or a fault writes so (`expressions`, with the names of `NAMES`) is computed once, in the healthy world
before the incident, for each target by itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, labels_of
from simcluster.api.quantity import to_bytes, to_millicores
from simcluster.engine.content import UnknownName
from simcluster.faults.expressions import Amount, evaluated, filled, parsed, plain, walk
from simcluster.faults.facts import key_of, value_at
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, containers_of, missing, ready_pods_of

_PROVISIONED = "pv.kubernetes.io/provisioned-by"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


class Scene(NamedTuple):
    """In which world a value is computed, for which target; `old` is what stands at its place."""

    target: FaultTarget
    namespace: str
    ref: ObjectRef
    old: Any = None

    def workload(self) -> ApiObject:
        """The target, which must have pods of its own. Raises ImpossibleTarget."""
        found = self.ref.find(self.target.api, self.namespace)
        if found is None or "template" not in (found.get("spec") or {}):
            raise ImpossibleTarget(f"{self.ref} is no workload from which a value can be computed")
        return found

    def workers(self) -> list[ApiObject]:
        """Nodes on which pods of applications run."""
        nodes = self.target.api.store.objects("nodes")
        return [node for node in nodes if _CONTROL_PLANE not in labels_of(node)]


def _nodes(scene: Scene) -> Amount:
    return Amount(Fraction(len(list(scene.target.api.store.objects("nodes")))))


def _workers(scene: Scene) -> Amount:
    return Amount(Fraction(len(scene.workers())))


def _replicas(scene: Scene) -> Amount:
    return Amount(Fraction(scene.workload()["spec"].get("replicas", 1)))


@dataclass(frozen=True)
class Capacity:
    """The most of a resource that a worker has, or has left beside what its pods ask for."""

    resource: str
    free: bool = False

    def __call__(self, scene: Scene) -> Amount:
        """In cores or bytes. Raises ImpossibleTarget: there is no worker."""
        found = [self._of(scene, node) for node in scene.workers()]
        if not found:
            raise ImpossibleTarget("the cluster has no workers")
        return Amount(max(found), self.resource)

    def _of(self, scene: Scene, node: ApiObject) -> Fraction:
        whole = (node["status"].get("allocatable") or {}).get(self.resource)
        return _amount(self.resource, whole) - self._asked(scene, node)

    def _asked(self, scene: Scene, node: ApiObject) -> Fraction:
        if not self.free:
            return Fraction(0)
        here = [
            p for p in scene.target.api.store.objects("pods") if p["spec"].get("nodeName") == node["metadata"]["name"]
        ]
        asked = [((c.get("resources") or {}).get("requests") or {}).get(self.resource)
                 for pod in here for c in pod["spec"]["containers"]]  # fmt: skip
        return sum((_amount(self.resource, one) for one in asked), Fraction(0))  # exact


@dataclass(frozen=True)
class Asked:
    """What the first container of the target asks for, or may use."""

    resource: str
    which: str

    def __call__(self, scene: Scene) -> Amount:
        """In cores or bytes. Raises ImpossibleTarget: it says nothing of it."""
        first = containers_of(scene.workload())[0]
        found = ((first.get("resources") or {}).get(self.which) or {}).get(self.resource)
        if found is None:
            raise ImpossibleTarget(f"{scene.ref} has no {self.resource} in its {self.which}")
        return Amount(_amount(self.resource, found), self.resource)


@dataclass(frozen=True)
class Used:
    """The most that the first container of a pod of the target uses, as metrics-server has it."""

    resource: str

    def __call__(self, scene: Scene) -> Amount:
        """In cores or bytes. Raises ImpossibleTarget: nobody measured it."""
        workload, metrics = scene.workload(), getattr(scene.target, "metrics", None)
        name, found = containers_of(workload)[0]["name"], list[Fraction]()
        for pod in ready_pods_of(scene.target.api.store, workload):
            measured = metrics.pod(scene.namespace, pod["metadata"]["name"]) if metrics is not None else None
            use = None if measured is None else measured.usage.get(name)
            if use is not None:
                found.append(
                    Fraction(use.cpu_nanocores, 10**9) if self.resource == "cpu" else Fraction(use.memory_bytes)
                )
        if not found:
            raise ImpossibleTarget(f"nobody has measured what {scene.ref} uses")
        return Amount(max(found), self.resource)


@dataclass(frozen=True)
class FirstContainer:
    """A value of the first container of the target."""

    path: str

    def __call__(self, scene: Scene) -> Any:
        """As it is written. Raises ImpossibleTarget: there is none."""
        found = containers_of(scene.workload())[0]
        value = (
            found["ports"][0]["containerPort"] if self.path == "port" and found.get("ports") else found.get(self.path)
        )
        if value is None:
            raise ImpossibleTarget(f"{scene.ref} has no {self.path}")
        return value


@dataclass(frozen=True)
class Many:
    """How many objects of a resource the namespace has."""

    resource: str

    def __call__(self, scene: Scene) -> Amount:
        """A number."""
        return Amount(Fraction(len(list(scene.target.api.store.objects(self.resource, scene.namespace)))))


@dataclass(frozen=True)
class AskedByAll:
    """What the pods, or the claims, of the namespace ask for together."""

    resource: str

    def __call__(self, scene: Scene) -> Amount:
        """In cores or bytes. Raises ImpossibleTarget: one of them says nothing of it."""
        store, found = scene.target.api.store, list[Any]()
        if self.resource == "storage":
            claims = store.objects("persistentvolumeclaims", scene.namespace)
            found = [claim["spec"]["resources"]["requests"].get("storage") for claim in claims]
        else:
            pods = store.objects("pods", scene.namespace)
            found = [
                ((c.get("resources") or {}).get("requests") or {}).get(self.resource)
                for pod in pods
                for c in pod["spec"]["containers"]
            ]
        if not found or None in found:
            raise ImpossibleTarget(f"not all of namespace {scene.namespace} say how much {self.resource} they request")
        unit = "cpu" if self.resource == "cpu" else "memory"
        return Amount(sum((_amount(unit, one) for one in found), Fraction(0)), unit)  # exact


def _worker(scene: Scene) -> str:
    if scene.ref.name not in [node["metadata"]["name"] for node in scene.workers()]:
        raise ImpossibleTarget(f"{scene.ref} is no worker")
    return scene.ref.name


def _user(scene: Scene) -> str:
    """The Deployment whose pods mount the claim, or that which the volume is bound to."""
    claim = _claim(scene) if scene.ref.kind == "PersistentVolume" else scene.ref.name
    for workload in scene.target.api.store.objects("deployments.apps", scene.namespace):
        volumes = workload["spec"]["template"]["spec"].get("volumes") or ()
        if claim in [(one.get("persistentVolumeClaim") or {}).get("claimName") for one in volumes]:
            return str(workload["metadata"]["name"])
    raise ImpossibleTarget(f"no Deployment mounts {scene.ref}")


def _reader(scene: Scene) -> str:
    """The Deployment whose variables are those of the target, a ConfigMap or Secret."""
    kind = "secretRef" if scene.ref.kind == "Secret" else "configMapRef"
    for workload in scene.target.api.store.objects("deployments.apps", scene.namespace):
        sources = [one for part in containers_of(workload) for one in part.get("envFrom") or ()]
        if scene.ref.name in [(one.get(kind) or {}).get("name") for one in sources]:
            return str(workload["metadata"]["name"])
    raise ImpossibleTarget(f"no Deployment takes its variables from {scene.ref}")


@dataclass(frozen=True)
class Variable:
    """The key of a ConfigMap or Secret that ends so."""

    suffix: str

    def __call__(self, scene: Scene) -> str:
        """Its name. Raises ImpossibleTarget: none ends so, or several do."""
        found = scene.ref.find(scene.target.api, scene.namespace)
        data = (found.get("data") or {}) if found is not None else {}
        keys = [str(key) for key in data if str(key).endswith(self.suffix)]
        if len(keys) != 1:
            raise ImpossibleTarget(f"{scene.ref} has {len(keys)} keys that end with {self.suffix}")
        return keys[0]


def _claim(scene: Scene) -> str:
    """The claim that the volume is bound to."""
    volume = scene.ref.find(scene.target.api, scene.namespace)
    claim = value_at(volume or {}, "spec.claimRef") or {}
    if claim.get("namespace") != scene.namespace:
        raise ImpossibleTarget(f"{scene.ref} is bound to no claim of {scene.namespace}")
    return str(claim["name"])


def _namespace(scene: Scene) -> str:
    return scene.namespace


def _volume(scene: Scene) -> str:
    """The volume to which the claim is bound, if somebody made it by hand."""
    claim = scene.ref.find(scene.target.api, scene.namespace)
    name = str(value_at(claim or {}, "spec.volumeName") or "")
    volume = scene.target.api.store.get("persistentvolumes", "", name)
    if volume is None or _PROVISIONED in (volume["metadata"].get("annotations") or {}):
        raise ImpossibleTarget(f"{scene.ref} is bound to no volume that somebody made by hand")
    return name


def _foreign_probe(scene: Scene) -> Any:
    """A question that a program does not understand: HTTP for one of gRPC or of its own protocol, gRPC for HTTP."""
    container, port = containers_of(scene.workload())[0], NAMES["port"](scene)
    probe = container.get("readinessProbe") or container.get("livenessProbe") or {}
    ports = [str(one.get("name", "")) for one in container.get("ports") or ()]
    services = scene.target.api.store.objects("services", scene.namespace)
    ports += [
        str(p.get("name", "")) for s in services if s["metadata"]["name"] == scene.ref.name for p in s["spec"]["ports"]
    ]
    http = "httpGet" in probe or ("grpc" not in probe and any("http" in one or one == "web" for one in ports))
    return {"grpc": {"port": port}} if http else {"httpGet": {"path": "/", "port": port}}


def _selected(scene: Scene) -> dict[str, str]:
    """The labels by which the target knows its pods."""
    return dict((scene.workload()["spec"].get("selector") or {}).get("matchLabels") or {})


def _name(scene: Scene) -> str:
    return scene.ref.name


def _old(scene: Scene) -> Any:
    if scene.old is None:
        raise ImpossibleTarget(f"nothing stands at that place of {scene.ref}")
    return scene.old


#: What may be named: how it is found.
NAMES: Mapping[str, Callable[[Scene], Any]] = {
    "nodes": _nodes,
    "workers": _workers,
    "node_cpu": Capacity("cpu"),
    "node_memory": Capacity("memory"),
    "free_cpu": Capacity("cpu", free=True),
    "free_memory": Capacity("memory", free=True),
    "replicas": _replicas,
    "cpu_use": Used("cpu"),
    "memory_use": Used("memory"),
    "cpu_request": Asked("cpu", "requests"),
    "memory_request": Asked("memory", "requests"),
    "cpu_limit": Asked("cpu", "limits"),
    "memory_limit": Asked("memory", "limits"),
    "image": FirstContainer("image"),
    "container": FirstContainer("name"),
    "port": FirstContainer("port"),
    "pods": Many("pods"),
    "services": Many("services"),
    "claims": Many("persistentvolumeclaims"),
    "all_cpu": AskedByAll("cpu"),
    "all_memory": AskedByAll("memory"),
    "all_storage": AskedByAll("storage"),
    "worker": _worker,
    "user": _user,
    "reader": _reader,
    "password_variable": Variable("_MYSQL_PASSWORD"),
    "port_variable": Variable("_MYSQL_PORT"),
    "volume": _volume,
    "claim": _claim,
    "namespace": _namespace,
    "foreign_probe": _foreign_probe,
    "pod_labels": _selected,
    "name": _name,
    "old": _old,
}


@dataclass(frozen=True)
class _Inputs:
    """Fills in a fault's own inputs, and leaves what the world must tell."""

    values: Mapping[str, Any]

    def __call__(self, text: str) -> Any:
        return filled(text, self.hole)

    def hole(self, expression: str) -> Any:
        names = {node.id for node in ast.walk(parsed(expression)) if isinstance(node, ast.Name)}
        for name in sorted(names - {*self.values, *NAMES}):
            raise ValueError(str(UnknownName("name", name, [*self.values, *NAMES])))
        if expression in self.values:
            return self.values[expression]
        if names <= set(self.values):
            return plain(evaluated(parsed(expression).body, self.values.__getitem__))
        for name in names & set(self.values):
            expression = re.sub(rf"\b{name}\b", str(self.values[name]), expression)
        return f"${{{{ {expression} }}}}"


@dataclass(frozen=True)
class _World:
    """Computes what is still open."""

    scene: Scene

    def __call__(self, text: str) -> Any:
        return filled(text, self.hole)

    def hole(self, expression: str) -> Any:
        return plain(evaluated(parsed(expression).body, self.name))

    def name(self, name: str) -> Any:
        return NAMES[name](self.scene)


def given(value: Any, inputs: Mapping[str, Any]) -> Any:
    """A value with a fault's own inputs in place of their names. Raises ValueError: it names what nobody knows."""
    return walk(value, _Inputs(inputs))


def computed(value: Any, scene: Scene) -> Any:
    """A value as it is in a world; of parameters `set`, `old` is what stands at the path.

    Raises:
        ImpossibleTarget: the world does not have what it is computed from.
    """
    deed = next(
        (key for key in ("set", "renew") if isinstance(value, Mapping) and isinstance(value.get(key), Mapping)), ""
    )
    if not deed:
        return walk(value, _World(scene))
    stored = scene.ref.find(scene.target.api, scene.namespace)
    done = {}
    for text, one in value[deed].items():
        paths = concrete(stored, str(walk(text, _World(scene))))
        if stored is None:
            raise missing(scene.ref, scene.target.api, scene.namespace)
        if not paths:
            raise ImpossibleTarget(f"{scene.ref} has no {text}")
        for path in paths:
            done[path] = walk(one, _World(scene._replace(old=value_at(stored, path))))
    rest = {key: one for key, one in value.items() if key != deed}
    return {**walk(rest, _World(scene)), deed: done}


def concrete(obj: Any, path: str) -> list[str]:
    """The paths of an object that one with `[*]` (all entries of a list) or `[0]` (one by its number) means.

    >>> pod = {"spec": {"containers": [{"name": "web"}, {"name": "log"}]}}
    >>> concrete(pod, "spec.containers[*].image"), concrete(pod, "spec.containers[0].image")
    (['spec.containers[web].image', 'spec.containers[log].image'], ['spec.containers[web].image'])
    """
    found = re.search(r"\[(\*|\d+)\]", path)
    if found is None:
        return [path]
    head, entries = path[: found.start()], value_at(obj, path[: found.start()])
    key = key_of(entries)
    names = [str(one[key]) for one in entries] if key else []
    if found[1] != "*" and found[1] not in names:
        names = names[int(found[1]) : int(found[1]) + 1]
    elif found[1] != "*":
        return [path]
    return [one for name in names for one in concrete(obj, f"{head}[{name}]{path[found.end() :]}")]


def _amount(resource: str, quantity: Any) -> Fraction:
    if quantity is None:
        return Fraction(0)
    return Fraction(to_millicores(quantity), 1000) if resource == "cpu" else Fraction(to_bytes(quantity))
