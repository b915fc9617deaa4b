"""`kubectl create namespace|deployment|configmap|secret|service|job|serviceaccount|quota`."""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Callable
from typing import NamedTuple

from simcluster.api import quantity
from simcluster.api.encoding.ordering import ordered
from simcluster.api.objects import Json
from simcluster.surface.kubectl import manifests
from simcluster.surface.kubectl.apply import LAST_APPLIED, validation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import DRY_RUN, OUTPUT, VALIDATE, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation, object_path
from simcluster.surface.kubectl.printers.jsontext import compact_json

#: Flags of every `create KIND`.
COMMON = (*OUTPUT, DRY_RUN, VALIDATE, manager("kubectl-create"), switch("save-config"))
_DATA = (
    switch("append-hash"),
    Flag("from-env-file", kind="list"),
    Flag("from-file", kind="array"),
    Flag("from-literal", kind="array"),
)

#: Whose bodies name a namespace only if `-n` does. Source: what kubectl 1.32 sends.
_NAMED_BY_PATH = ("deployments", "services")

Builder = Callable[[Invocation, Arguments, str], Json]


class Creator(NamedTuple):
    """How one kind is made of flags.

    Attributes:
        resource: the word discovery knows it by.
        failed: what stands before the server's error; empty for the server's error as it is.
        required: flags that must be given.
    """

    resource: str
    flags: tuple[Flag, ...]
    build: Builder
    failed: str = ""
    required: tuple[str, ...] = ()

    def run(self, invocation: Invocation, arguments: Arguments) -> None:
        """Create one."""
        missing = [f'"{flag}"' for flag in self.required if not arguments.given(flag)]
        if missing:
            raise plain(f"required flag(s) {', '.join(missing)} not set")
        words = arguments.positional[: arguments.dash] if arguments.dash >= 0 else arguments.positional
        if len(words) != 1:
            raise usage(arguments.path, f"exactly one NAME is required, got {len(words)}")
        resource = invocation.find(self.resource)
        obj = self.build(invocation, arguments, words[0])
        change = Change(invocation, arguments)
        named = invocation.explicit_namespace or (change.mode != "client" and self.resource not in _NAMED_BY_PATH)
        if resource.namespaced and named:
            obj["metadata"]["namespace"] = invocation.namespace
        if arguments.has("append-hash") and arguments.on("append-hash"):
            obj["metadata"]["name"] += f"-{_hash(obj)}"
        if arguments.on("save-config"):
            obj = _remembered(obj)
        path = object_path(resource, invocation.namespace if resource.namespaced else "")
        try:
            created = change.create(path, ordered(obj), fieldValidation=validation(arguments))
        except StatusError as error:
            # The wrapped form hides the reason from kubectl's error printer.
            raise (plain(f"{self.failed}{error.inner}") if self.failed else error) from None
        change.report(resource, created, "created", typed=True)


def _remembered(obj: Json) -> Json:
    """The object with the annotation of `--save-config`: here it is the text of the Go value, as it was made."""
    metadata = {**obj["metadata"], "annotations": {LAST_APPLIED: compact_json(ordered(obj), sort=False) + "\n"}}
    return {**obj, "metadata": metadata}


def metadata_of(name: str, labels: dict[str, str] | None = None) -> Json:
    """Metadata of a new object, as Go prints it."""
    metadata: Json = {"creationTimestamp": None, "name": name}
    if labels:
        metadata["labels"] = labels
    return metadata


def _namespace(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata_of(name), "spec": {}, "status": {}}


def _service_account(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata_of(name)}


def _quota(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    hard = {}
    scopes = arguments.text("scopes")
    for part in arguments.text("hard").split(",") if arguments.text("hard") else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise plain(f"Invalid argument syntax {part}, expected <resource>=<value>")
        try:
            hard[key] = quantity.canonical(value)
        except quantity.QuantityError as error:
            raise plain(str(error)) from None
    spec: Json = {"hard": hard} if hard else {}
    if scopes:
        spec["scopes"] = scopes.split(",")
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata_of(name), "spec": spec, "status": {}}


def _deployment(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    images = arguments.texts("image")
    command = arguments.positional[arguments.dash :] if arguments.dash >= 0 else []
    if len(images) > 1 and command:
        raise plain("cannot specify multiple --image options and command")
    containers: list[Json] = []
    for image in images:
        container: Json = {"image": image, "name": _container_name(image), "resources": {}}
        if command:
            container["command"] = command
        containers.append(container)
    if arguments.number("port") > 0:
        containers[0]["ports"] = [{"containerPort": arguments.number("port")}]
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata_of(name, labels),
        "spec": {
            "replicas": arguments.number("replicas"),
            "selector": {"matchLabels": labels},
            "strategy": {},
            "template": {
                "metadata": {"creationTimestamp": None, "labels": labels},
                "spec": {"containers": containers},
            },
        },
        "status": {},
    }


def _container_name(image: str) -> str:
    """`nginx` of `registry/team/nginx:1.27@sha256:...`, made fit for a container's name."""
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    return re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-") or "container"


def _job(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    command = arguments.positional[arguments.dash :] if arguments.dash >= 0 else []
    if bool(arguments.text("image")) == bool(arguments.text("from")):
        raise plain("either --image or --from must be specified")
    if arguments.text("from"):
        if command:
            raise plain("cannot specify --from and command")
        return _job_of(invocation, arguments, name)
    container: Json = {"image": arguments.text("image"), "name": name, "resources": {}}
    if command:
        container["command"] = command
    template = {
        "metadata": {"creationTimestamp": None},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata_of(name),
        "spec": {"template": template},
        "status": {},
    }


def _job_of(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    kind, slash, source = arguments.text("from").partition("/")
    resource = invocation.find(kind)
    if not slash or not source:
        raise plain("resource(s) were provided, but no name was specified")
    cron = invocation.named(object_path(resource, invocation.namespace, source))
    if resource.plural != "cronjobs":
        raise plain(f"unknown object type *{resource.version}.{resource.kind}")
    template = cron["spec"]["jobTemplate"]
    metadata = metadata_of(name, (template.get("metadata") or {}).get("labels"))
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    metadata["annotations"] = {**annotations, "cronjob.kubernetes.io/instantiate": "manual"}
    metadata["ownerReferences"] = [
        {
            "apiVersion": "batch/v1",
            "controller": True,
            "kind": "CronJob",
            "name": source,
            "uid": cron["metadata"]["uid"],
        }
    ]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"], "status": {}}


def _config_map(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    obj: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata_of(name)}
    data = _data(invocation, arguments, f'Data for ConfigMap "{name}"')
    if data:
        obj["data"] = data
    return obj


def _secret(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    obj: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata_of(name)}
    data = _data(invocation, arguments, "data")
    if data:
        obj["data"] = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    if arguments.text("type"):
        obj["type"] = arguments.text("type")
    return obj


def _hash(obj: Json) -> str:
    """The suffix of `--append-hash`: ten characters of a digest, without those that could make words.

    Source: k8s.io/kubectl/pkg/util/hash.
    """
    known: Json = {"kind": obj["kind"], "name": obj["metadata"]["name"], "data": obj.get("data") or ""}
    if obj["kind"] == "Secret":
        known["type"] = obj.get("type", "")
        known["data"] = obj.get("data") or {}
    digest = hashlib.sha256(compact_json(known).encode()).hexdigest()
    return digest[:10].translate(str.maketrans("013ae", "ghkmt"))


def _data(invocation: Invocation, arguments: Arguments, place: str) -> dict[str, str]:
    data: dict[str, str] = {}
    if arguments.texts("from-env-file") and (arguments.texts("from-file") or arguments.texts("from-literal")):
        raise plain("from-env-file cannot be combined with from-file or from-literal")
    for pair in arguments.texts("from-literal"):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise plain(f"invalid literal source {pair}, expected key=value")
        value = value.strip("\"'") if value[:1] == value[-1:] and value[:1] in "\"'" else value
        _put(data, key, value, place)
    for part in arguments.texts("from-file"):
        key, equals, path = part.partition("=")
        if not equals:
            key, path = posixpath.basename(part), part
        for inner, text in _files(invocation, key, path, named=bool(equals)):
            _put(data, inner, text, place)
    for path in arguments.texts("from-env-file"):
        for line in manifests.read(invocation, path).splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                key, _, value = line.lstrip().partition("=")
                _put(data, key, value, place)
    return data


def _files(invocation: Invocation, key: str, path: str, *, named: bool) -> list[tuple[str, str]]:
    prefix = posixpath.normpath(path) + "/"
    inside = [name for name in sorted(invocation.files) if name.startswith(prefix) and "/" not in name[len(prefix) :]]
    if inside and not named:
        return [(name[len(prefix) :], invocation.files[name]) for name in inside]
    try:
        return [(key, invocation.files[path])]
    except KeyError:
        raise plain(f"error reading {path}: no such file or directory") from None


def _put(data: dict[str, str], key: str, value: str, place: str) -> None:
    if not re.fullmatch(r"[-._a-zA-Z0-9]+", key):
        raise plain(
            f'"{key}" is not a valid key name for a ConfigMap: a valid config key must consist of alphanumeric '
            "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation "
            "is '[-._a-zA-Z0-9]+')"
        )
    if key in data:
        raise plain(f'cannot add key "{key}", another key by that name already exists in {place}')
    data[key] = value


class _ServiceBuilder:
    """Builds services of one type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, invocation: Invocation, arguments: Arguments, name: str) -> Json:
        labels = {"app": name}
        spec: Json = {"selector": labels, "type": self.kind}
        if self.kind == "ExternalName":
            spec["externalName"] = arguments.text("external-name")
        ports = [_service_port(text) for text in arguments.texts("tcp")]
        if ports:
            spec["ports"] = ports
        elif self.kind in ("ClusterIP", "NodePort", "LoadBalancer") and arguments.text_or("clusterip") != "None":
            raise plain("at least one tcp port specifier must be provided")
        if arguments.text_or("clusterip"):
            spec["clusterIP"] = arguments.text("clusterip")
        if arguments.text_or("node-port") not in ("", "0"):
            for port in ports:
                port["nodePort"] = arguments.number("node-port")
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata_of(name, labels),
            "spec": spec,
            "status": {"loadBalancer": {}},
        }


def _service_port(text: str) -> Json:
    first, _, second = text.partition(":")
    if not first.isdigit():
        raise plain(f'strconv.ParseUint: parsing "{first}": invalid syntax')
    target: int | str = int(first)
    if second:
        target = int(second) if second.isdigit() else second
    return {"name": text.replace(":", "-"), "port": int(first), "protocol": "TCP", "targetPort": target}


_TCP = Flag("tcp", kind="list")

SERVICES: dict[str, Creator] = {
    "clusterip": Creator(
        "services",
        (*COMMON, _TCP, Flag("clusterip")),
        _ServiceBuilder("ClusterIP"),
        "failed to create ClusterIP service: ",
    ),
    "externalname": Creator(
        "services",
        (*COMMON, _TCP, Flag("external-name")),
        _ServiceBuilder("ExternalName"),
        "failed to create ExternalName service: ",
        ("external-name",),
    ),
    "loadbalancer": Creator(
        "services", (*COMMON, _TCP), _ServiceBuilder("LoadBalancer"), "failed to create LoadBalancer service: "
    ),
    "nodeport": Creator(
        "services",
        (*COMMON, _TCP, Flag("node-port", kind="int", default="0")),
        _ServiceBuilder("NodePort"),
        "failed to create NodePort service: ",
    ),
}
SECRETS: dict[str, Creator] = {
    "generic": Creator("secrets", (*COMMON, *_DATA, Flag("type")), _secret, "failed to create secret "),
}
KINDS: dict[str, Creator] = {
    "configmap": Creator("configmaps", (*COMMON, *_DATA), _config_map, "failed to create configmap: "),
    "deployment": Creator(
        "deployments",
        (
            *COMMON,
            Flag("image", kind="list"),
            Flag("port", kind="int", default="-1"),
            Flag("replicas", "r", "int", "1"),
        ),
        _deployment,
        "failed to create deployment: ",
        ("image",),
    ),
    "job": Creator("jobs", (*COMMON, Flag("image"), Flag("from")), _job, "failed to create job: "),
    "namespace": Creator("namespaces", COMMON, _namespace),
    "quota": Creator("resourcequotas", (*COMMON, Flag("hard"), Flag("scopes")), _quota, "failed to create quota: "),
    "serviceaccount": Creator("serviceaccounts", COMMON, _service_account, "failed to create serviceaccount: "),
}
#: Other names of the same.
ALIASES = {
    "cm": "configmap",
    "deploy": "deployment",
    "ns": "namespace",
    "resourcequota": "quota",
    "sa": "serviceaccount",
}
