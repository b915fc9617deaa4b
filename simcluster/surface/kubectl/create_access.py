"""`kubectl create role|clusterrole|rolebinding|clusterrolebinding|token|cronjob|poddisruptionbudget|priorityclass`."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.create_kinds import COMMON, Creator, metadata_of
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation, object_path

_RBAC = "rbac.authorization.k8s.io"
_RBAC_V1 = f"{_RBAC}/v1"


def _role(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    rules = _resource_rules(invocation, arguments, _verbs(invocation, arguments))
    return {"apiVersion": _RBAC_V1, "kind": "Role", "metadata": metadata_of(name), "rules": rules}


def _cluster_role(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    obj: Json = {"apiVersion": _RBAC_V1, "kind": "ClusterRole", "metadata": metadata_of(name)}
    if arguments.text("aggregation-rule"):
        if any(arguments.texts(flag) for flag in ("non-resource-url", "verb", "resource", "resource-name")):
            raise plain("aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames")
        labels = dict(pair.split("=", 1) for pair in arguments.text("aggregation-rule").split(","))
        obj["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": labels}]}
        obj["rules"] = None
        return obj
    urls = arguments.texts("non-resource-url")
    verbs = _verbs(invocation, arguments)
    if not urls and not arguments.texts("resource"):
        raise plain("one of resource or nonResourceURL must be specified")
    if urls:
        obj["rules"] = [{"nonResourceURLs": urls, "verbs": verbs}]
    else:
        obj["rules"] = _resource_rules(invocation, arguments, verbs)
    return obj


#: Verbs that kubectl knows (create_role.go), and those that only some resources have.
_STANDARD = ("get", "delete", "list", "create", "update", "patch", "watch", "proxy", "deletecollection")
_SPECIAL: dict[str, tuple[tuple[str, str], ...]] = {
    "use": (("policy", "podsecuritypolicies"), ("extensions", "podsecuritypolicies")),
    "bind": ((_RBAC, "roles"), (_RBAC, "clusterroles")),
    "escalate": ((_RBAC, "roles"), (_RBAC, "clusterroles")),
    "impersonate": (
        ("", "users"),
        ("", "serviceaccounts"),
        ("", "groups"),
        ("authentication.k8s.io", "userextras"),
    ),
}


def _verbs(invocation: Invocation, arguments: Arguments) -> list[str]:
    verbs = list(dict.fromkeys(arguments.texts("verb")))
    if not verbs:
        raise plain("at least one verb must be specified")
    if "*" in verbs:
        return ["*"]
    for verb in verbs:
        if verb not in _STANDARD and verb not in _SPECIAL:
            invocation.note(f"Warning: '{verb}' is not a standard resource verb")
    return verbs


def _check_special(verbs: list[str], group: str, plural: str) -> None:
    for verb in verbs:
        if verb in _SPECIAL and verb not in _STANDARD and (group, plural) not in _SPECIAL[verb]:
            raise plain(f"can not perform '{verb}' on '{plural}' in group '{group}'")


def _resource_rules(invocation: Invocation, arguments: Arguments, verbs: list[str]) -> list[Json]:
    """One rule for each API group among the resources, in their order."""
    words = arguments.texts("resource")
    if not words:
        raise plain("at least one resource must be specified")
    names = arguments.texts("resource-name")
    groups: dict[str, list[str]] = {}
    for word in words:
        kind, _, subresource = word.partition("/")
        if kind == "*":
            groups.setdefault("", []).append(word)
            continue
        resource = invocation.find_bare(kind)
        _check_special(verbs, resource.group, resource.plural)
        shown = f"{resource.plural}/{subresource}" if subresource else resource.plural
        groups.setdefault(resource.group, []).append(shown)
    rules = []
    for group in sorted(groups):
        rule: Json = {"apiGroups": [group], "resources": groups[group], "verbs": verbs}
        if names:
            rule["resourceNames"] = names
        rules.append(rule)
    return rules


def _subjects(invocation: Invocation, arguments: Arguments) -> list[Json]:
    found: list[Json] = []
    for flag, kind in (("user", "User"), ("group", "Group")):
        found.extend({"apiGroup": _RBAC, "kind": kind, "name": name} for name in arguments.texts(flag))
    for account in arguments.texts("serviceaccount"):
        namespace, colon, name = account.partition(":")
        if not colon or not namespace or not name:
            raise plain("serviceaccount must be <namespace>:<name>")
        found.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return found


def _role_binding(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    role, cluster_role = arguments.text("role"), arguments.text("clusterrole")
    if bool(role) == bool(cluster_role):
        raise plain("exactly one of clusterrole or role must be specified")
    kind = "Role" if role else "ClusterRole"
    subjects = _subjects(invocation, arguments)
    return {
        "apiVersion": _RBAC_V1,
        "kind": "RoleBinding",
        "metadata": metadata_of(name),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role or cluster_role},
        **({"subjects": subjects} if subjects else {}),
    }


def _cluster_role_binding(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    if not arguments.text("clusterrole"):
        raise plain('required flag(s) "clusterrole" not set')
    subjects = _subjects(invocation, arguments)
    return {
        "apiVersion": _RBAC_V1,
        "kind": "ClusterRoleBinding",
        "metadata": metadata_of(name),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": arguments.text("clusterrole")},
        **({"subjects": subjects} if subjects else {}),
    }


def _cron_job(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    restart = arguments.text("restart") or "OnFailure"
    if restart not in ("OnFailure", "Never"):
        raise plain(f"invalid restart policy: {restart}")
    container: Json = {"image": arguments.text("image"), "name": name, "resources": {}}
    command = arguments.positional[arguments.dash :] if arguments.dash >= 0 else []
    if command:
        container["command"] = command
    pod: Json = {
        "metadata": {"creationTimestamp": None},
        "spec": {"containers": [container], "restartPolicy": restart},
    }
    template = {"metadata": metadata_of(name), "spec": {"template": pod}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata_of(name),
        "spec": {"jobTemplate": template, "schedule": arguments.text("schedule")},
        "status": {},
    }


def _budget(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    if not arguments.text("selector"):
        raise plain("a selector must be specified")
    least, most = arguments.text("min-available"), arguments.text("max-unavailable")
    if not least and not most:
        raise plain("one of min-available or max-unavailable must be specified")
    if least and most:
        raise plain("min-available and max-unavailable cannot be both specified")
    labels = dict(pair.split("=", 1) for pair in arguments.text("selector").split(",") if "=" in pair)
    spec: Json = {"selector": {"matchLabels": labels}}
    key, value = ("minAvailable", least) if least else ("maxUnavailable", most)
    if not value.removesuffix("%").isdigit():
        raise plain(f"invalid format specified for {'min-available' if least else 'max-unavailable'}")
    spec[key] = int(value) if value.isdigit() else value
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata_of(name),
        "spec": spec,
        "status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
    }


def _priority_class(invocation: Invocation, arguments: Arguments, name: str) -> Json:
    made: Json = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata_of(name),
        "value": arguments.number("value"),
        "preemptionPolicy": arguments.text("preemption-policy"),
    }
    if arguments.on("global-default"):
        made["globalDefault"] = True
    if arguments.text("description"):
        made["description"] = arguments.text("description")
    return made


_SUBJECTS = (Flag("group", kind="array"), Flag("serviceaccount", kind="array"), Flag("user", kind="array"))
_RULES = (Flag("resource", kind="list"), Flag("resource-name", kind="array"), Flag("verb", kind="list"))

KINDS: dict[str, Creator] = {
    "clusterrole": Creator(
        "clusterroles",
        (*COMMON, *_RULES, Flag("aggregation-rule"), Flag("non-resource-url", kind="list")),
        _cluster_role,
    ),
    "clusterrolebinding": Creator(
        "clusterrolebindings",
        (*COMMON, *_SUBJECTS, Flag("clusterrole")),
        _cluster_role_binding,
        "failed to create clusterrolebinding: ",
    ),
    "cronjob": Creator(
        "cronjobs",
        (*COMMON, Flag("image"), Flag("restart"), Flag("schedule")),
        _cron_job,
        "failed to create cronjob: ",
        ("image", "schedule"),
    ),
    "poddisruptionbudget": Creator(
        "poddisruptionbudgets",
        (*COMMON, Flag("max-unavailable"), Flag("min-available"), Flag("selector")),
        _budget,
        "failed to create poddisruptionbudgets: ",
    ),
    "priorityclass": Creator(
        "priorityclasses",
        (
            *COMMON,
            Flag("description"),
            switch("global-default"),
            Flag("preemption-policy", default="PreemptLowerPriority"),
            Flag("value", kind="int", default="0"),
        ),
        _priority_class,
        "failed to create priorityclass: ",
    ),
    "role": Creator("roles", (*COMMON, *_RULES), _role),
    "rolebinding": Creator(
        "rolebindings",
        (*COMMON, *_SUBJECTS, Flag("clusterrole"), Flag("role")),
        _role_binding,
        "failed to create rolebinding: ",
    ),
}
ALIASES = {"cj": "cronjob", "pc": "priorityclass", "pdb": "poddisruptionbudget"}

TOKEN_FLAGS = (
    Flag("audience", kind="array"),
    Flag("bound-object-kind"),
    Flag("bound-object-name"),
    Flag("bound-object-uid"),
    Flag("duration", kind="duration", default="0s"),
    Flag("output", "o"),
)


def _check_bound(arguments: Arguments) -> None:
    kind, name = arguments.text("bound-object-kind"), arguments.text("bound-object-name")
    if not kind:
        for flag in ("bound-object-name", "bound-object-uid"):
            if arguments.text(flag):
                raise plain(f"--{flag} can only be set if --bound-object-kind is provided")
        return
    if kind not in ("Node", "Pod", "Secret"):
        raise plain("supported --bound-object-kind values are Node, Pod, Secret")
    if not name:
        raise plain("--bound-object-name is required if --bound-object-kind is provided")


def token(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl create token`."""
    if len(arguments.positional) != 1:
        raise usage("create token", f"exactly one NAME is required, got {len(arguments.positional)}")
    _check_bound(arguments)
    spec: Json = {"audiences": arguments.texts("audience") or None}
    seconds = arguments.duration_ns("duration") // 1_000_000_000
    if seconds:
        spec["expirationSeconds"] = seconds
    accounts = invocation.find("serviceaccounts")
    path = object_path(accounts, invocation.namespace, arguments.positional[0], "token")
    if arguments.text("bound-object-kind"):
        kind = arguments.text("bound-object-kind")
        reference = {"apiVersion": "v1", "kind": kind, "name": arguments.text("bound-object-name")}
        if arguments.text("bound-object-uid"):
            reference["uid"] = arguments.text("bound-object-uid")
        spec["boundObjectRef"] = reference
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    try:
        answer: Json = invocation.ask("POST", path, body=body).body
    except StatusError as error:
        raise plain(f"failed to create token: {error.inner}") from None
    invocation.line(answer["status"]["token"])
