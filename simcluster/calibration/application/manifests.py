"""Plain manifests as they are read: workloads with their containers, Services, and what is for the whole cluster.

Left out: charts and overlays that have not been rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simcluster.api.resources import BUILT_IN
from simcluster.models.apps.catalog import tag_of
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.traffic.cluster.address import parse_address

#: Kinds with a template of pods that serve.
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass
class Workload:
    """The first container of a workload: what serves in it.

    Attributes:
        env: variables with their values, those of ConfigMaps and Secrets of the manifests too.
        calls: variable -> Service, of values that are addresses of Services of the manifests.
        unread: variables whose value names a Service, but is no address.
    """

    kind: str
    name: str
    image: str
    ports: tuple[int, ...]
    labels: Mapping[str, str]
    container: Mapping[str, Any]
    env: dict[str, str] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    @property
    def repository(self) -> str:
        """The image without its tag."""
        return repository_of(self.image)

    @property
    def tag(self) -> str:
        """The tag of the image."""
        return tag_of(self.image)

    @property
    def probes(self) -> list[Mapping[str, Any]]:
        """Its probes."""
        return [self.container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe")
                if self.container.get(name)]  # fmt: skip


@dataclass
class Manifests:
    """What was read.

    Attributes:
        objects: those of namespaces; `cluster`: those of the whole cluster.
        namespaces: which namespaces the objects name.
        services: Service -> its selector and ports.
        entries: Services by which users come: of Ingresses first, then those with a port on nodes.
    """

    objects: list[dict[str, Any]] = field(default_factory=list)
    cluster: list[dict[str, Any]] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    services: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)

    def behind(self, service: str) -> Workload | None:
        """The workload that a Service selects."""
        selector = self.services[service].get("selector") or {}
        found = (one for one in self.workloads if selector.items() <= one.labels.items())
        return next(found, None) if selector else None


def documents(source: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, or of all files of a folder, in order of their paths.

    Raises:
        ValueError: a file is no YAML, or a document of it is no object.
    """
    paths = sorted(path for path in source.rglob("*") if path.suffix in _SUFFIXES) if source.is_dir() else [source]
    for path in paths:
        try:
            found = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 1}" if mark is not None else ""
            why = getattr(error, "problem", None) or "not YAML"
            hint = "render charts and overlays first (helm template, kustomize build)"
            raise ValueError(f"{path}{line}: {why}; {hint}") from None
        for document in found:
            yield from _objects(path, document)


def _objects(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    if document is None:
        return
    if not isinstance(document, dict) or not document.get("kind") or not (document.get("metadata") or {}).get("name"):
        if isinstance(document, dict) and str(document.get("kind")).endswith("List"):
            for one in document.get("items") or ():
                yield from _objects(path, one)
            return
        raise ValueError(f"{path}: a document without kind or metadata.name is no manifest")
    yield document


def read(source: Path) -> Manifests:
    """The manifests of a file or folder. Raises ValueError: there is none, or one cannot be read."""
    made, held = Manifests(), {}
    for document in documents(source):
        meta = document["metadata"]
        if _of_cluster(document):
            made.cluster.append(document)
            continue
        made.objects.append(document)
        if meta.get("namespace"):
            made.namespaces.append(meta["namespace"])
        if document["kind"] in ("ConfigMap", "Secret"):
            data = {**(document.get("data") or {}), **(document.get("stringData") or {})}
            held[document["kind"], meta["name"]] = {key: str(value) for key, value in data.items()}
        elif document["kind"] == "Service":
            made.services[meta["name"]] = document.get("spec") or {}
    if not made.objects:
        raise ValueError(f"{source}: there is no manifest of anything that runs in a namespace")
    made.namespaces = list(dict.fromkeys(made.namespaces))
    for document in made.objects:
        if document["kind"] in WORKLOADS:
            made.workloads.append(_workload(document, held, made.services))
    made.entries = list(dict.fromkeys(_entries(made)))
    return made


def _of_cluster(document: Mapping[str, Any]) -> bool:
    """Whether an object is in no namespace; of kinds that nobody knows, a definition's own word counts for nothing."""
    group, _, _ = str(document.get("apiVersion", "")).rpartition("/")
    known = next((one for one in BUILT_IN.all if one.kind == document["kind"] and one.group == group), None)
    return not known.namespaced if known is not None else False


def _workload(
    document: Mapping[str, Any], held: Mapping[Any, Mapping[str, str]], services: Mapping[str, Any]
) -> Workload:
    template = document["spec"]["template"]
    container = template["spec"]["containers"][0]
    ports = tuple(int(port["containerPort"]) for port in container.get("ports") or ())
    labels = {str(key): str(value) for key, value in (template["metadata"].get("labels") or {}).items()}
    made = Workload(document["kind"], document["metadata"]["name"], container["image"], ports, labels, container)
    for source in container.get("envFrom") or ():
        for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            made.env |= held.get((kind, (source.get(key) or {}).get("name")), {})
    for variable in container.get("env") or ():
        made.env[variable["name"]] = _value(variable, held)
    for name, value in made.env.items():
        host = parse_address(value)[0].partition(".")[0]
        if host in services:
            made.calls[name] = host
        elif any(re.search(rf"(?:^|[=/@,\s]){re.escape(service)}(?=[\s:/,;.]|$)", value) for service in services):
            made.unread.append(name)
    return made


def _value(variable: Mapping[str, Any], held: Mapping[Any, Mapping[str, str]]) -> str:
    if "value" in variable:
        return str(variable["value"] if variable["value"] is not None else "")
    source = variable.get("valueFrom") or {}
    for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        reference = source.get(key) or {}
        if reference:
            return held.get((kind, reference.get("name")), {}).get(reference.get("key", ""), "")
    return ""


def _entries(made: Manifests) -> Iterator[str]:
    for document in made.objects:
        if document["kind"] == "Ingress":
            for rule in (document.get("spec") or {}).get("rules") or ():
                for path in (rule.get("http") or {}).get("paths") or ():
                    yield ((path.get("backend") or {}).get("service") or {}).get("name", "")
    for kinds in (("LoadBalancer",), ("NodePort",)):
        yield from (name for name, spec in made.services.items() if spec.get("type") in kinds)
