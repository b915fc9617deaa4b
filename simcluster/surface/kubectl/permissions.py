"""`kubectl auth can-i|whoami`."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import ALL_NAMESPACES, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.printers.go_value import go_text
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter
from simcluster.surface.kubectl.printers.yaml import to_yaml

CAN_I_FLAGS = (ALL_NAMESPACES, switch("list"), switch("no-headers"), switch("quiet", "q"), Flag("subresource"))
WHOAMI_FLAGS = (Flag("output", "o"),)

_AUTHORIZATION = "/apis/authorization.k8s.io/v1"


def can_i(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl auth can-i`."""
    if arguments.on("list"):
        _list(invocation, arguments)
        return
    if len(arguments.positional) not in (2, 3):
        raise plain(
            "you must specify two arguments: verb resource or verb resource/resourceName.\n"
            "See 'kubectl auth can-i -h' for help and examples."
        )
    verb, what, *rest = arguments.positional
    spec: Json
    if what.startswith("/"):
        spec = {"nonResourceAttributes": {"path": what, "verb": verb}}
    else:
        spec = {"resourceAttributes": _attributes(invocation, arguments, verb, what, rest)}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    status = invocation.ask("POST", f"{_AUTHORIZATION}/selfsubjectaccessreviews", body=body).body.get("status") or {}
    allowed = bool(status.get("allowed"))
    if not arguments.on("quiet"):
        reason = f" - {status['reason']}" if status.get("reason") and not allowed else ""
        invocation.line("yes" if allowed else f"no{reason}")
    if not allowed:
        invocation.exit_code = 1


def _attributes(invocation: Invocation, arguments: Arguments, verb: str, what: str, rest: list[str]) -> Json:
    word, _, name = what.partition("/")
    attributes: Json = {"verb": verb}
    if word == "*":
        attributes.update({"group": "*", "resource": "*"})
    else:
        try:
            resource = invocation.find(word)
        except KubectlError:
            invocation.note(f"Warning: the server doesn't have a resource type '{word}'\n")
            attributes["resource"] = word
        else:
            if not resource.namespaced and not arguments.on("all-namespaces"):
                group = f" in group '{resource.group}'" if resource.group else ""
                invocation.note(f"Warning: resource '{resource.plural}' is not namespace scoped{group}\n")
            attributes["resource"] = resource.plural
            attributes["version"] = resource.version
            if resource.group:
                attributes["group"] = resource.group
    if not arguments.on("all-namespaces"):
        attributes["namespace"] = invocation.namespace
    if name or rest:
        attributes["name"] = name or rest[0]
    if arguments.text("subresource"):
        attributes["subresource"] = arguments.text("subresource")
    return attributes


def _list(invocation: Invocation, arguments: Arguments) -> None:
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": invocation.namespace},
    }
    answer = invocation.ask("POST", f"{_AUTHORIZATION}/selfsubjectrulesreviews", body=body).body
    status = answer.get("status") or {}
    writer = ColumnWriter()
    if not arguments.on("no-headers"):
        writer.row(["Resources", "Non-Resource URLs", "Resource Names", "Verbs"])
    for rule in status.get("resourceRules") or ():
        groups = rule.get("apiGroups") or [""]
        for resource in rule.get("resources") or ():
            name = f"{resource}.{groups[0]}" if groups[0] else resource
            writer.row([name, "[]", go_text(rule.get("resourceNames") or []), go_text(rule.get("verbs") or [])])
    for rule in status.get("nonResourceRules") or ():
        writer.row(["", go_text(rule.get("nonResourceURLs") or []), "[]", go_text(rule.get("verbs") or [])])
    invocation.write(writer.flush())


def whoami(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl auth whoami`."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = invocation.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body).body
    except StatusError as error:
        if error.reason == "NotFound":
            raise plain(
                "the selfsubjectreviews API is not enabled in the cluster\n"
                "enable APISelfSubjectReview feature gate and authentication.k8s.io/v1alpha1 or "
                "authentication.k8s.io/v1beta1 API"
            ) from None
        raise
    form = arguments.text("output")
    if form in ("yaml", "json"):
        invocation.write(to_yaml(answer) if form == "yaml" else to_json(answer))
        return
    info = (answer.get("status") or {}).get("userInfo") or {}
    writer = ColumnWriter()
    writer.row(["ATTRIBUTE", "VALUE"])
    for title, key in (("Username", "username"), ("UID", "uid")):
        if info.get(key):
            writer.row([title, info[key]])
    if info.get("groups"):
        writer.row(["Groups", go_text(info["groups"])])
    invocation.write(writer.flush())
