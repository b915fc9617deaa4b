"""`kubectl create ingress`, and secrets for certificates and registries.

Texts are those of k8s.io/kubectl/pkg/cmd/create (create_ingress.go, create_secret_tls.go,
create_secret_docker.go). Left out: a check that key and certificate belong together.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from simcluster.api.objects import Json
from simcluster.surface.kubectl import manifests
from simcluster.surface.kubectl.create_kinds import COMMON, Creator, metadata_of
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation

_RULE = re.compile(r"^([^/]*)(/[^=]*)=([^:,]+):([^,]+?)(?:,(tls)(?:=(.+))?)?$")


def _ingress(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    rules, default = arguments.texts("rule"), arguments.text("default-backend")
    if not rules and not default:
        raise plain(
            "not enough information provided: every ingress has to either specify a default-backend (which catches "
            "all traffic) or a list of rules (which catch specific paths)"
        )
    spec: Json = {}
    if arguments.text("class"):
        spec["ingressClassName"] = arguments.text("class")
    if default:
        service, colon, port = default.partition(":")
        if not colon or not service or not port or ":" in port:
            raise plain("default-backend should be in format servicename:serviceport")
        spec["defaultBackend"] = _backend(service, port)
    if rules:
        spec["rules"], tls = _rules(rules)
        if tls:
            spec["tls"] = tls
    metadata = metadata_of(name)
    pairs = dict(_annotation(text) for text in arguments.texts("annotation"))
    if pairs:
        metadata["annotations"] = pairs
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata,
        "spec": spec,
        "status": {"loadBalancer": {}},
    }


def _annotation(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise plain(f"annotation {text} is invalid and should be in format key=[value]")
    return key, value


def _backend(service: str, port: str) -> Json:
    shown: Json = {"number": int(port)} if port.isdigit() else {"name": port}
    return {"service": {"name": service, "port": shown}}


def _rules(texts: list[str]) -> tuple[list[Json], list[Json]]:
    """Rules and TLS entries; rules of one host are joined."""
    hosts: dict[str, list[Json]] = {}
    secrets: dict[str, dict[str, None]] = {}
    for text in texts:
        match = _RULE.match(text)
        if match is None:
            raise plain(f"rule {text} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]")
        host, path, service, port, tls, secret = match.groups()
        kind = "Prefix" if path.endswith("*") else "Exact"
        entry = {"backend": _backend(service, port), "path": path.removesuffix("*"), "pathType": kind}
        hosts.setdefault(host, []).append(entry)
        if tls:
            secrets.setdefault(secret or "", {})[host] = None
    rules: list[Json] = []
    for host, paths in hosts.items():
        rule: Json = {"http": {"paths": paths}}
        rules.append({"host": host, **rule} if host else rule)
    return rules, [_tls(secret, [host for host in names if host]) for secret, names in secrets.items()]


def _tls(secret: str, hosts: list[str]) -> Json:
    entry: Json = {}
    if hosts:
        entry["hosts"] = hosts
    if secret:
        entry["secretName"] = secret
    return entry


def _secret(name: str, kind: str, data: dict[str, str]) -> Json:
    encoded: dict[str, Any] = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "data": encoded, "kind": "Secret", "metadata": metadata_of(name), "type": kind}


def _tls_secret(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    cert, key = arguments.text("cert"), arguments.text("key")
    if not cert or not key:
        raise plain("key and cert must be specified")
    data = {}
    for field, path in (("tls.crt", cert), ("tls.key", key)):
        try:
            data[field] = manifests.read(invocation, path)
        except KubectlError as error:
            raise plain(f"Cannot read file {path}, {error.inner}") from None
    for what, text in (("certificate", data["tls.crt"]), ("key", data["tls.key"])):
        if "-----BEGIN" not in text:
            raise plain(f"tls: failed to find any PEM data in {what} input")
    return _secret(name, "kubernetes.io/tls", data)


def _registry_secret(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    user, password = arguments.text("docker-username"), arguments.text("docker-password")
    server = arguments.text("docker-server")
    files = arguments.texts("from-file")
    if files:
        path = files[0].partition("=")[2] or files[0]
        return _secret(name, "kubernetes.io/dockerconfigjson", {".dockerconfigjson": manifests.read(invocation, path)})
    if not user or not password or not server:
        raise plain(
            "either --from-file or the combination of --docker-username, --docker-password and --docker-server "
            "is required"
        )
    entry = {"username": user, "password": password}
    if arguments.text("docker-email"):
        entry["email"] = arguments.text("docker-email")
    entry["auth"] = base64.b64encode(f"{user}:{password}".encode()).decode()
    text = json.dumps({"auths": {server: entry}}, separators=(",", ":"))
    return _secret(name, "kubernetes.io/dockerconfigjson", {".dockerconfigjson": text})


KINDS: dict[str, Creator] = {
    "ingress": Creator(
        "ingresses",
        (
            *COMMON,
            Flag("annotation", kind="array"),
            Flag("class"),
            Flag("default-backend"),
            Flag("rule", kind="array"),
        ),
        _ingress,
        "failed to create ingress: ",
    ),
}
SECRETS: dict[str, Creator] = {
    "docker-registry": Creator(
        "secrets",
        (
            *COMMON,
            switch("append-hash"),
            Flag("docker-email"),
            Flag("docker-password"),
            Flag("docker-server", default="https://index.docker.io/v1/"),
            Flag("docker-username"),
            Flag("from-file", kind="list"),
        ),
        _registry_secret,
        "failed to create secret ",
    ),
    "tls": Creator(
        "secrets",
        (*COMMON, switch("append-hash"), Flag("cert"), Flag("key")),
        _tls_secret,
        "failed to create secret ",
    ),
}
ALIASES = {"ing": "ingress"}
