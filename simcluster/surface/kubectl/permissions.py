"""`kubectl auth can-i|whoami`."""

from __future__ import annotations

from simcluster.api.authorization import rules
from simcluster.api.encoding.ordering import ordered
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
#: knownResourceVerbs and knownNonResourceVerbs of kubectl auth can-i.
_RESOURCE_VERBS = (
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    *("use", "bind", "impersonate", "*", "approve", "sign", "escalate", "attest"),
)
_PATH_VERBS = ("get", "put", "post", "head", "options", "delete", "patch")


def can_i(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl auth can-i`."""
    if arguments.on("list"):
        if arguments.on("quiet") or arguments.on("all-namespaces") or arguments.text("subresource"):
            raise plain("list option can't be specified with neither quiet, all-namespaces nor subresource options")
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
        if arguments.text("subresource"):
            raise plain("--subresource can not be used with NonResourceURL")
        _check_verb(invocation, verb, _PATH_VERBS)
        spec = {"nonResourceAttributes": {"path": what, "verb": verb}}
    else:
        spec = {"resourceAttributes": _attributes(invocation, arguments, verb, what, rest)}
        if not arguments.on("all-namespaces"):
            _check_verb(invocation, verb, _RESOURCE_VERBS)
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    status = invocation.ask("POST", f"{_AUTHORIZATION}/selfsubjectaccessreviews", body=body).body.get("status") or {}
    allowed = bool(status.get("allowed"))
    if not arguments.on("quiet"):
        reasons = [f" - {status[key]}" for key in ("reason", "evaluationError") if status.get(key)]
        invocation.line("yes" if allowed else "no" + "".join(reasons))
    if not allowed:
        invocation.exit_code = 1


def _check_verb(invocation: Invocation, verb: str, known: tuple[str, ...]) -> None:
    if verb not in known:
        invocation.note(f"Warning: verb '{verb}' is not a known verb\n")


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
    if status.get("incomplete"):
        invocation.note(f"warning: the list may be incomplete: {status.get('evaluationError', '')}")
    writer = ColumnWriter()
    if not arguments.on("no-headers"):
        writer.row(["Resources", "Non-Resource URLs", "Resource Names", "Verbs"])
    parts = [
        part
        for key in ("resourceRules", "nonResourceRules")
        for rule in status.get(key) or ()
        for part in rules.broken_down(rule)
    ]
    for rule in sorted(rules.compacted(parts), key=_as_go_prints):
        writer.row(
            [
                _qualified(rule),
                go_text(rule.get("nonResourceURLs") or []),
                go_text(rule.get("resourceNames") or []),
                go_text(rule.get("verbs") or []),
            ]
        )
    invocation.write(writer.flush())


def _qualified(rule: Json) -> str:
    """`deployments.apps`, or with a subresource `deployments.apps/scale`."""
    if not rule.get("resources"):
        return ""
    resource, _, subresource = rule["resources"][0].partition("/")
    group = (rule.get("apiGroups") or [""])[0]
    name = f"{resource}.{group}" if group else resource
    return f"{name}/{subresource}" if subresource else name


def _as_go_prints(rule: Json) -> str:
    """The text by which kubectl sorts rules: the generated String() of the Go type."""
    keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    titles = ("Verbs", "APIGroups", "Resources", "ResourceNames", "NonResourceURLs")
    parts = [f"{title}:{go_text(rule.get(key) or [])}" for title, key in zip(titles, keys, strict=True)]
    return "&PolicyRule{" + ",".join(parts) + ",}"


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
        invocation.write(to_yaml(answer) if form == "yaml" else to_json(ordered(answer), sort=False))
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
