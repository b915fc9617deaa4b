"""`kubectl set image|env|resources|serviceaccount|selector`: changes of pod templates and selectors."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from simcluster.api import quantity
from simcluster.api.objects import Json, thaw
from simcluster.api.request import STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.describe.containers import resource_value
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, SELECTOR, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import NOTHING_GIVEN, Target, fetch
from simcluster.surface.kubectl.typedforms import typed

_COMMON = (*FILES, SELECTOR, *OUTPUT, DRY_RUN, manager("kubectl-set"), switch("all"), switch("local"))

IMAGE_FLAGS = (*_COMMON, RECORD)
ENV_FLAGS = (
    *_COMMON,
    Flag("containers", "c", default="*"),
    Flag("env", "e", "array"),
    Flag("from"),
    Flag("keys", kind="list"),
    switch("list"),
    switch("overwrite", default="true"),
    Flag("prefix"),
    switch("resolve"),
)
RESOURCES_FLAGS = (*_COMMON, RECORD, Flag("containers", "c", default="*"), Flag("limits"), Flag("requests"))
ACCOUNT_FLAGS = (*_COMMON, RECORD)
SELECTOR_FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    manager("kubectl-set"),
    switch("all"),
    switch("local"),
    Flag("resource-version"),
)

#: Parts of a selector: commas inside of parentheses divide nothing.
_PARTS = re.compile(r"[^,(]+(?:\([^)]*\))?")
_SETS = re.compile(r"\s*(!?)\s*([^\s!]+)\s*(?:(in|notin)\s*\(([^)]*)\))?\s*")
_ENV = re.compile(r"[A-Za-z0-9_.-]+=|[A-Za-z0-9_.-]+-$")
Mutation = Callable[[Json], None]
LOCAL_NEEDS_FILES = (
    "you must specify resources by --filename when --local is set.\n"
    "Example resource specifications include:\n"
    "   '-f rsrc.yaml'\n"
    "   '--filename=rsrc.json'"
)


def pod_template_spec(obj: Json) -> Json | None:
    """The pod spec inside an object that has a pod template; the object must be a private copy."""
    spec = obj.get("spec") or {}
    if obj.get("kind") == "Pod":
        return spec if isinstance(spec, dict) else None
    if obj.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    template = spec.get("template") or {}
    found = template.get("spec")
    return found if isinstance(found, dict) else None


def _no_template(obj: Json) -> KubectlError:
    version = str(obj.get("apiVersion", "")).rpartition("/")[2]
    is_stored = "uid" in obj["metadata"]
    name = f"{plural_of(obj['kind']) if is_stored else obj['kind'].lower()}/{obj['metadata'].get('name', '')}"
    return plain(f"{name} the object is not a pod or does not have a pod template: *{version}.{obj['kind']}")


def plural_of(kind: str) -> str:
    """The usual plural of a kind in small letters."""
    lower = kind.lower()
    return f"{lower}es" if lower.endswith("s") else f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


class _Setting:
    """Changes objects and sends the differences."""

    def __init__(self, change: Change, mutation: Mutation, what: str, failed: str) -> None:
        self.change = change
        self.mutation = mutation
        self.what = what
        self.failed = failed

    def run(self, target: Target) -> None:
        """Change one object. Raises KubectlError."""
        if self.change.local:
            target = typed(target)
        after = thaw(target.obj)
        self.mutation(after)
        if after == target.obj:
            return
        patch = strategicdiff.two_way(target.obj, self.change.recorded(after), target.resource)
        try:
            changed = self.change.patch(target, patch, STRATEGIC_MERGE_PATCH)
        except StatusError as error:
            raise plain(f"{self.failed}: {error.inner}") if self.failed else error from None
        self.change.report(target.resource, changed, self.what, typed=True)


def _run(
    invocation: Invocation, arguments: Arguments, words: list[str], mutation: Mutation, what: str, failed: str
) -> None:
    change = Change(invocation, arguments)
    targets, failures = fetch(invocation, arguments, words)
    failures.each(targets, _Setting(change, mutation, what, failed).run)


def refuse_local(arguments: Arguments, words: list[str], text: str = LOCAL_NEEDS_FILES) -> None:
    """Refuse resources of the server beside `--local`. Raises KubectlError."""
    if arguments.on("local") and words:
        raise plain(text)


def _split(arguments: Arguments, pattern: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Positional arguments as resources and `key=value` pairs."""
    resources: list[str] = []
    pairs: list[str] = []
    for word in arguments.positional:
        if pattern.match(word):
            pairs.append(word)
        elif pairs:
            raise plain("all resources must be specified before changes: " + word)
        else:
            resources.append(word)
    return resources, pairs


def _containers(pod: Json) -> list[Json]:
    return [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]


def _selected(containers: list[Json], pattern: str) -> list[Json]:
    if pattern == "*":
        return containers
    return [container for container in containers if re.fullmatch(pattern.replace("*", ".*"), container["name"])]


# Images.


class _Images:
    """Sets images by container name."""

    def __init__(self, images: list[tuple[str, str]]) -> None:
        self.images = images

    def __call__(self, obj: Json) -> None:
        pod = pod_template_spec(obj)
        if pod is None:
            raise _no_template(obj)
        for name, image in self.images:
            found = [container for container in _containers(pod) if name in ("*", container["name"])]
            if not found:
                raise plain(f'unable to find container named "{name}"')
            for container in found:
                container["image"] = image


def image(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl set image`."""
    words, pairs = _split(arguments, re.compile(r"[^/=]+="))
    if not words and not arguments.texts("filename"):
        raise plain(NOTHING_GIVEN)
    if not pairs:
        raise plain("at least one image update is required")
    refuse_local(arguments, words)
    images = [(name, value) for name, _, value in (pair.partition("=") for pair in pairs)]
    if len(images) > 1 and any(name == "*" for name, _ in images):
        raise plain(
            "all containers are already specified by *, but saw more than one container_name=container_image pairs"
        )
    _run(invocation, arguments, words, _Images(images), "image updated", "failed to patch image update to pod template")


# Environment.


class _Environment:
    """Sets and removes variables."""

    def __init__(
        self, invocation: Invocation, wanted: dict[str, Json], removed: list[str], containers: str, overwrite: bool
    ) -> None:
        self.invocation = invocation
        self.wanted = wanted
        self.removed = removed
        self.containers = containers
        self.overwrite = overwrite

    def __call__(self, obj: Json) -> None:
        pod = pod_template_spec(obj)
        if pod is None:
            raise _no_template(obj)
        every = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
        containers = _selected(every, self.containers)
        if not containers:
            name = f"{obj['kind']}/{obj['metadata']['name']}"
            self.invocation.note(f'Warning: {name} does not have any containers matching "{self.containers}"')
        for container in containers:
            self._change(container)

    def _change(self, container: Json) -> None:
        variables = list(container.get("env") or ())
        for name, variable in self.wanted.items():
            places = [i for i, entry in enumerate(variables) if entry["name"] == name]
            if places and not self.overwrite:
                continue
            if places:
                variables[places[0]] = variable
            else:
                variables.append(variable)
        variables = [variable for variable in variables if variable["name"] not in self.removed]
        if variables:
            container["env"] = variables
        else:
            container.pop("env", None)


def env(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl set env`."""
    words, pairs = _split(arguments, _ENV)
    pairs = [*pairs, *arguments.texts("env")]
    if not words and not arguments.texts("filename"):
        raise plain("one or more resources must be specified as <resource> <name> or <resource>/<name>")
    refuse_local(arguments, words, NOTHING_GIVEN)
    if arguments.on("list") and not pairs:
        _list_env(invocation, arguments, words)
        return
    wanted, removed = _variables(invocation, pairs)
    if arguments.text("from"):
        wanted.update(_imported(invocation, arguments))
    overwrite = arguments.on("overwrite")
    mutation = _Environment(invocation, wanted, removed, arguments.text("containers"), overwrite)
    _run(invocation, arguments, words, mutation, "env updated", "failed to patch env update to pod template")


def _variables(invocation: Invocation, pairs: list[str]) -> tuple[dict[str, Json], list[str]]:
    wanted: dict[str, Json] = {}
    removed: list[str] = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if equals:
            wanted[name] = {"name": name, "value": value}
        elif pair == "-":
            for line in invocation.stdin.splitlines():
                found, _, text = line.partition("=")
                if found.strip():
                    wanted[found] = {"name": found, "value": text}
        elif pair.endswith("-"):
            removed.append(pair[:-1])
        else:
            raise plain(
                f"environment variables must be of the form key=value and can only contain letters, numbers: {pair}"
            )
    for name in removed:
        if name in wanted:
            raise plain("can not both modify and remove the same environment variable in the same command")
    return wanted, removed


def _imported(invocation: Invocation, arguments: Arguments) -> dict[str, Json]:
    kind, _, name = arguments.text("from").partition("/")
    if arguments.on("local"):
        raise plain("unsupported resource specified in --from")
    resource = invocation.find(kind)
    if resource.name not in ("configmaps", "secrets"):
        raise plain(f"unsupported resource specified in --from: {arguments.text('from')}")
    path = f"/api/v1/namespaces/{invocation.namespace}/{resource.plural}/{name}"
    data = invocation.get(path).get("data") or {}
    reference = "configMapKeyRef" if resource.name == "configmaps" else "secretKeyRef"
    keys = arguments.texts("keys")
    found: dict[str, Json] = {}
    for key in sorted(data):
        if keys and key not in keys:
            continue
        variable = re.sub(r"[^A-Za-z0-9_]", "_", key).upper()
        if variable != key:
            invocation.note(f"Warning: key {key} transferred to {variable}")
        full = arguments.text("prefix") + variable
        found[full] = {"name": full, "valueFrom": {reference: {"key": key, "name": name}}}
    return found


def _list_env(invocation: Invocation, arguments: Arguments, words: list[str]) -> None:
    targets, failures = fetch(invocation, arguments, words)
    for target in targets:
        pod = pod_template_spec(thaw(target.obj))
        every = [*((pod or {}).get("containers") or ()), *((pod or {}).get("initContainers") or ())]
        for container in _selected(every, arguments.text("containers")):
            invocation.line(f"# {target.resource.kind} {target.name}, container {container['name']}")
            for variable in container.get("env") or ():
                invocation.line(_listed(invocation, target, variable, container if arguments.on("resolve") else None))
    failures.raise_all()


def _listed(invocation: Invocation, target: Target, variable: Json, container: Json | None) -> str:
    """One variable; with a container what it comes to there, as far as a client can tell."""
    name, source = variable["name"], variable.get("valueFrom")
    if not source:
        return f"{name}={variable.get('value', '')}"
    if "fieldRef" in source:
        return f"# {name} from field path {source['fieldRef']['fieldPath']}"
    if "resourceFieldRef" in source and container is not None:
        return f"{name}={resource_value(source['resourceFieldRef'], container)}"
    if "resourceFieldRef" in source:
        return f"# {name} from resource field {source['resourceFieldRef']['resource']}"
    is_secret = "secretKeyRef" in source
    reference = source.get("secretKeyRef") or source.get("configMapKeyRef") or {}
    if container is not None:
        plural = "secrets" if is_secret else "configmaps"
        data = invocation.get(f"/api/v1/namespaces/{target.namespace}/{plural}/{reference['name']}").get("data") or {}
        value = data.get(reference["key"], "")
        return f"{name}={base64.b64decode(value).decode(errors='replace') if is_secret else value}"
    kind = "secret" if is_secret else "configmap"
    return f"# {name} from {kind} {reference['name']}, key {reference['key']}"


# Resources.


class _Resources:
    """Sets limits and requests."""

    def __init__(self, limits: dict[str, str], requests: dict[str, str], containers: str) -> None:
        self.amounts = {"limits": limits, "requests": requests}
        self.containers = containers

    def __call__(self, obj: Json) -> None:
        pod = pod_template_spec(obj)
        every = [*((pod or {}).get("containers") or ()), *((pod or {}).get("initContainers") or ())]
        found = _selected(every, self.containers)
        if not found:
            raise plain(f"unable to find container named {self.containers}")
        for container in found:
            resources = dict(container.get("resources") or {})
            for side, amounts in self.amounts.items():
                if amounts:
                    resources[side] = {**(resources.get(side) or {}), **amounts}
            container["resources"] = resources


def resources(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl set resources`."""
    if not arguments.positional and not arguments.texts("filename"):
        raise plain(NOTHING_GIVEN)
    if not arguments.text("limits") and not arguments.text("requests"):
        raise plain("you must specify an update to requests or limits (in the form of --requests/--limits)")
    refuse_local(arguments, arguments.positional)
    mutation = _Resources(
        _amounts(arguments.text("limits")), _amounts(arguments.text("requests")), arguments.text("containers")
    )
    failed = "failed to patch resources update to pod template"
    _run(invocation, arguments, arguments.positional, mutation, "resource requirements updated", failed)


def _amounts(text: str) -> dict[str, str]:
    amounts = {}
    for part in text.split(",") if text else ():
        name, equals, amount = part.partition("=")
        if not equals or not amount:
            raise plain(f"Invalid argument syntax {part}, expected <resource>=<value>")
        try:
            amounts[name] = quantity.canonical(amount)
        except quantity.QuantityError as error:
            raise plain(str(error)) from None
    return amounts


# Service accounts and selectors.


class _ServiceAccount:
    """Sets the service account of a pod template."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, obj: Json) -> None:
        pod = pod_template_spec(obj)
        if pod is None:
            raise _no_template(obj)
        pod["serviceAccountName"] = self.name


def service_account(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl set serviceaccount`."""
    *words, name = arguments.positional or [""]
    if not name:
        raise plain("serviceaccount is required")
    if not words and not arguments.texts("filename"):
        raise plain(NOTHING_GIVEN)
    refuse_local(arguments, words, NOTHING_GIVEN)
    failed = "failed to patch ServiceAccountName"
    _run(invocation, arguments, words, _ServiceAccount(name), "serviceaccount updated", failed)


def _requirement(part: str) -> str:
    """A requirement of a set as Go prints the value."""
    match = _SETS.fullmatch(part)
    if match is None:
        return part
    operator = {"in": "In", "notin": "NotIn", None: "DoesNotExist" if match[1] else "Exists"}[match[3]]
    values = sorted(value.strip() for value in (match[4] or "").split(",") if value.strip())
    return f"{{{match[2]} {operator} [{' '.join(values)}]}}"


class _Selector:
    """Sets the selector of a service."""

    def __init__(self, labels: dict[str, str], version: str) -> None:
        self.labels = labels
        self.version = version

    def __call__(self, obj: Json) -> None:
        if obj["kind"] != "Service":
            raise plain("setting a selector is only supported for Services")
        obj["spec"]["selector"] = dict(self.labels)
        if self.version:
            obj["metadata"]["resourceVersion"] = self.version


def selector(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl set selector`."""
    *words, expression = arguments.positional or [""]
    if not expression:
        raise plain("one selector is required")
    labels = {}
    for part in _PARTS.findall(expression):
        key, equals, value = part.partition("=")
        if not equals:
            raise plain(f"match expression [{_requirement(part)}] not supported on this object")
        labels[key] = value
    refuse_local(arguments, words)
    _run(invocation, arguments, words, _Selector(labels, arguments.text("resource-version")), "selector updated", "")
