"""`kubectl run`: one pod."""

from __future__ import annotations

import json

from simcluster.api.objects import Json
from simcluster.api.patch import jsonpatch, merge, strategic
from simcluster.api.schema import type_of
from simcluster.surface.kubectl.apply import with_annotation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain, usage
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation, object_path

FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    manager("kubectl-run"),
    Flag("annotations", kind="array"),
    switch("attach"),
    Flag("cascade", default="background", bare="background"),
    switch("command"),
    Flag("env", kind="array"),
    switch("expose"),
    switch("force"),
    Flag("grace-period", kind="int", default="-1"),
    Flag("image"),
    Flag("image-pull-policy"),
    Flag("labels", "l"),
    switch("leave-stdin-open"),
    Flag("override-type", default="merge"),
    Flag("overrides"),
    Flag("pod-running-timeout", kind="duration", default="1m0s"),
    Flag("port"),
    switch("privileged"),
    switch("quiet", "q"),
    Flag("restart", default="Always"),
    switch("rm"),
    switch("save-config"),
    switch("stdin", "i"),
    Flag("timeout", kind="duration", default="0s"),
    switch("tty", "t"),
    switch("wait"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl run`."""
    if not arguments.text("image"):
        raise plain('required flag(s) "image" not set')
    if not arguments.positional or arguments.dash == 0:
        raise usage("run", "NAME is required for run")
    if arguments.on("rm") and not arguments.on("attach") and not arguments.on("stdin"):
        raise usage("run", "--rm should only be used for attached containers")
    if arguments.on("stdin") or arguments.on("tty") or arguments.on("attach"):
        raise plain("attaching to a pod needs a terminal, and there is none here; run the pod, then read its logs")
    if arguments.text("restart") not in ("Always", "OnFailure", "Never"):
        raise plain(f"invalid restart policy: {arguments.text('restart')}")
    change = Change(invocation, arguments)
    pods = invocation.find("pods")
    pod = _overridden(_pod(arguments), arguments)
    if arguments.on("save-config"):
        pod = with_annotation(pod)
    created = change.create(object_path(pods, invocation.namespace), pod)
    change.report(pods, created, "created")
    if arguments.on("expose"):
        _expose(change, created, arguments)


def _pod(arguments: Arguments) -> Json:
    name, *words = arguments.positional
    container: Json = {"name": name, "image": arguments.text("image"), "resources": {}}
    if words:
        container["command" if arguments.on("command") else "args"] = words
    if arguments.text("image-pull-policy"):
        container["imagePullPolicy"] = arguments.text("image-pull-policy")
    if arguments.texts("env"):
        container["env"] = [_variable(pair) for pair in arguments.texts("env")]
    if arguments.text("port"):
        container["ports"] = [{"containerPort": int(arguments.text("port"))}]
    if arguments.on("privileged"):
        container["securityContext"] = {"privileged": True}
    labels = _pairs(arguments.text("labels").split(",")) if arguments.text("labels") else {"run": name}
    metadata: Json = {"creationTimestamp": None, "labels": labels, "name": name}
    if arguments.texts("annotations"):
        metadata["annotations"] = _pairs(arguments.texts("annotations"))
    spec: Json = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": arguments.text("restart"),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}


def _pairs(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise plain(f"unexpected label spec: {pair}")
        found[key] = value
    return found


def _variable(pair: str) -> Json:
    name, equals, value = pair.partition("=")
    if not equals or not name:
        raise plain(f"invalid env: {pair}")
    return {"name": name, "value": value}


def _overridden(pod: Json, arguments: Arguments) -> Json:
    text = arguments.text("overrides")
    if not text:
        return pod
    try:
        overrides = json.loads(text)
    except ValueError as error:
        raise plain(f"Invalid JSON Patch: {error}") from None
    kind = arguments.text("override-type")
    if kind == "strategic":
        return strategic.merge(pod, overrides, type_of("", "v1", "Pod"))
    if kind == "json":
        patched: Json = jsonpatch.apply(pod, overrides)
        return patched
    merged: Json = merge.merge(pod, overrides)
    return merged


def _expose(change: Change, pod: Json, arguments: Arguments) -> None:
    if not arguments.text("port"):
        raise plain("--port must be set when exposing a service")
    services = change.invocation.find("services")
    name, port = pod["metadata"]["name"], int(arguments.text("port"))
    service: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "ports": [{"port": port, "protocol": "TCP", "targetPort": port}],
            "selector": pod["metadata"].get("labels") or {},
        },
    }
    created = change.create(object_path(services, change.invocation.namespace), service)
    change.report(services, created, "created")
