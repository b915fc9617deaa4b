"""`kubectl version|cluster-info|api-resources|api-versions|options`."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.resources import Resource
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import GLOBAL_FLAGS, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import CLIENT_VERSION, KUSTOMIZE_VERSION, Invocation, query_of
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter
from simcluster.surface.kubectl.printers.yaml import to_yaml

VERSION_FLAGS = (switch("client"), Flag("output", "o"))
RESOURCES_FLAGS = (
    Flag("api-group"),
    switch("cached"),
    Flag("categories", kind="list"),
    switch("namespaced", default="true"),
    switch("no-headers"),
    Flag("output", "o"),
    Flag("sort-by"),
    Flag("verbs", kind="list"),
)


def version(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl version`."""
    form = arguments.text("output")
    if form not in ("", "yaml", "json"):
        raise plain("--output must be 'yaml' or 'json'")
    server: Json | None = None
    if not arguments.on("client"):
        try:
            server = invocation.get("/version")
        except StatusError:
            server = None
    if not form:
        invocation.line(f"Client Version: {CLIENT_VERSION}")
        invocation.line(f"Kustomize Version: {KUSTOMIZE_VERSION}")
        if server is not None:
            invocation.line(f"Server Version: {server['gitVersion']}")
        return
    major, minor, _ = CLIENT_VERSION.removeprefix("v").split(".")
    client = {
        "buildDate": "2025-05-15T16:27:13Z",
        "compiler": "gc",
        "gitCommit": "9894294ef13a5b32803e3ca2c0d620a088cc84d1",
        "gitTreeState": "clean",
        "gitVersion": CLIENT_VERSION,
        "goVersion": "go1.23.8",
        "major": major,
        "minor": minor,
        "platform": "linux/amd64",
    }
    found: Json = {"clientVersion": client, "kustomizeVersion": KUSTOMIZE_VERSION}
    if server is not None:
        found["serverVersion"] = server
    if form == "yaml":
        invocation.line(to_yaml(found))
        return
    for key in ("clientVersion", "serverVersion"):  # Go's order of fields
        if key in found:
            found[key] = {field: found[key][field] for field in _VERSION_FIELDS if field in found[key]}
    invocation.write(to_json(found, indent=2, sort=False))


_VERSION_FIELDS = (
    "major",
    "minor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
)


def cluster_info(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl cluster-info`."""
    invocation.line(f"Kubernetes control plane is running at {invocation.config.server}")
    query = query_of(labelSelector="kubernetes.io/cluster-service=true")
    for service in invocation.items("/api/v1/namespaces/kube-system/services", query):
        metadata = service["metadata"]
        name = (metadata.get("labels") or {}).get("kubernetes.io/name") or metadata["name"]
        ports = service["spec"].get("ports") or [{}]
        port = f":{ports[0]['name']}" if ports[0].get("name") else ""
        path = f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}{port}/proxy"
        invocation.line(f"{name} is running at {invocation.config.server}{path}")
    invocation.line("\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.")


def refuse_words(arguments: Arguments) -> None:
    """Refuse positional arguments. Raises KubectlError."""
    if arguments.positional:
        raise usage(arguments.path, f"unexpected arguments: [{' '.join(arguments.positional)}]")


def api_versions(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl api-versions`."""
    refuse_words(arguments)
    every = invocation.discovery.all(invocation.send_free, fresh=True)
    found = sorted({resource.api_version: None for resource in every})
    for text in found:
        invocation.line(text)


def api_resources(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl api-resources`."""
    refuse_words(arguments)
    form = arguments.text("output")
    if form not in ("", "wide", "name"):
        raise plain(f"--output {form} is not available")
    preferred: dict[str, Resource] = {}
    for resource in invocation.discovery.all(invocation.send_free, fresh=not arguments.on("cached")):
        preferred.setdefault(resource.name, resource)
    chosen = [resource for resource in preferred.values() if _chosen(resource, arguments)]
    sort_field = arguments.text("sort-by")
    if sort_field not in ("", "name", "kind"):
        raise plain("--sort-by accepts only name or kind")
    chosen.sort(key=_by_kind if sort_field == "kind" else _by_name if sort_field == "name" else _by_group)
    if form == "name":
        for resource in chosen:
            invocation.line(resource.name)
        return
    writer = ColumnWriter()
    if not arguments.on("no-headers"):
        head = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
        writer.row([*head, "VERBS", "CATEGORIES"] if form == "wide" else head)
    for resource in chosen:
        row = [
            resource.plural,
            ",".join(resource.short_names),
            resource.api_version,
            "true" if resource.namespaced else "false",
            resource.kind,
        ]
        if form == "wide":
            row += [",".join(resource.verbs), ",".join(resource.categories)]
        writer.row(row)
    invocation.write(writer.flush())


def _chosen(resource: Resource, arguments: Arguments) -> bool:
    if arguments.given("api-group") and resource.group != arguments.text("api-group"):
        return False
    if arguments.given("namespaced") and resource.namespaced != arguments.on("namespaced"):
        return False
    if not all(verb in resource.verbs for verb in arguments.texts("verbs")):
        return False
    return all(category in resource.categories for category in arguments.texts("categories"))


def _by_group(resource: Resource) -> tuple[str, str]:
    return (resource.group, resource.plural)


def _by_name(resource: Resource) -> str:
    return resource.plural


def _by_kind(resource: Resource) -> str:
    return resource.kind


def options(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl options`: the flags of every command, without their descriptions."""
    invocation.line("The following options can be passed to any command:\n")
    for flag in GLOBAL_FLAGS:
        if flag.name != "help":
            short = f"-{flag.short}, " if flag.short else ""
            empty = "[]" if flag.kind == "array" else "''"
            invocation.line(f"    {short}--{flag.name}={flag.default or empty}")
