"""`kubectl run`: one pod."""

from __future__ import annotations

import re

from simcluster.api.objects import Json
from simcluster.surface.kubectl.apply import with_annotation
from simcluster.surface.kubectl.attaching import ATTACHED_NS, Attachment
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.create_kinds import metadata_of
from simcluster.surface.kubectl.errors import KubectlError, plain, usage
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, Arguments, Flag, atoi, manager, switch
from simcluster.surface.kubectl.invocation import Invocation, object_path
from simcluster.surface.kubectl.overrides import overridden

FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    RECORD,
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


#: A reference to an image, as far as the client checks it (distribution/reference).
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?/)?[a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z0-9_+.-]+:[0-9a-fA-F]{32,})?"
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl run`."""
    if not arguments.given("image"):
        raise plain('required flag(s) "image" not set')
    if not arguments.positional or arguments.dash == 0:
        raise usage("run", "NAME is required for run")
    if arguments.on("rm") and not arguments.on("attach") and not arguments.on("stdin"):
        raise usage("run", "--rm should only be used for attached containers")
    if arguments.on("tty") and not arguments.on("stdin"):
        raise plain("-i/--stdin is required for containers with -t/--tty=true")
    if arguments.text("restart") not in ("Always", "OnFailure", "Never"):
        raise usage("run", f"invalid restart policy: {arguments.text('restart')}")
    if not arguments.text("image"):
        raise plain("--image is required")
    if not _IMAGE.fullmatch(arguments.text("image")):
        raise plain(f'Invalid image name "{arguments.text("image")}": invalid reference format')
    if arguments.on("expose") and not arguments.text("port"):
        raise usage("run", "--port must be set when exposing a service")
    change = Change(invocation, arguments)
    pods = invocation.find("pods")
    pod = change.recorded(overridden(_pod(arguments), arguments, "Pod"))
    if arguments.on("save-config"):
        pod = with_annotation(pod)
    attach = arguments.on("attach") if arguments.given("attach") else arguments.on("stdin")
    if attach and change.mode != "none":
        raise usage(
            "run",
            "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
        )
    created = change.create(object_path(pods, invocation.namespace), pod)
    if arguments.on("expose"):
        _expose(change, created, arguments)
    if not attach:
        change.report(pods, created, "created")
        return
    try:
        _attach(invocation, arguments, created)
    except KubectlError:
        if arguments.on("rm"):
            _remove(invocation, created)
        raise
    if arguments.on("rm"):
        _remove(invocation, created)


def _attach(invocation: Invocation, arguments: Arguments, created: Json) -> None:
    """Stay with the pod's container until it ends; its exit code is that of the command.

    Raises:
        KubectlError: the pod does not start, or it failed.
    """
    attachment = Attachment(invocation, created, created["spec"]["containers"][0]["name"])
    attachment.wait_until_begun(arguments.duration_ns("pod-running-timeout"))
    attachment.greet(arguments)
    attachment.follow()
    if arguments.on("leave-stdin-open") or arguments.text("restart") == "Always":
        return
    invocation.wait(_Over(attachment).check, ATTACHED_NS)
    ended = attachment.state().get("terminated")
    if (attachment.pod.get("status") or {}).get("phase") != "Failed":
        return
    shown = f"pod {created['metadata']['namespace']}/{created['metadata']['name']}"
    if not ended or not ended.get("exitCode"):
        raise plain(f"{shown} failed with unknown exit code")
    text = f"{shown} terminated ({ended.get('reason', '')})\n{ended.get('message', '')}"
    raise KubectlError(text, int(ended["exitCode"]))


class _Over:
    """Whether a pod has come to its end."""

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment

    def check(self) -> bool:
        self.attachment.begun()
        return (self.attachment.pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _remove(invocation: Invocation, created: Json) -> None:
    metadata = created["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    invocation.ask("DELETE", path, body={"propagationPolicy": "Background"})
    invocation.line(f'pod "{metadata["name"]}" deleted')


def _pod(arguments: Arguments) -> Json:
    name, *words = arguments.positional
    container: Json = {"name": name, "image": arguments.text("image"), "resources": {}}
    if words:
        container["command" if arguments.on("command") else "args"] = words
    if arguments.text("image-pull-policy"):
        container["imagePullPolicy"] = arguments.text("image-pull-policy")
    for flag in ("stdin", "tty"):
        if arguments.on(flag):
            container[flag] = True
    if arguments.on("stdin") and not arguments.on("leave-stdin-open"):
        container["stdinOnce"] = True
    if arguments.texts("env"):
        container["env"] = [_variable(pair) for pair in arguments.texts("env")]
    if arguments.text("port"):
        container["ports"] = [{"containerPort": atoi(arguments.text("port"))}]
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


def _expose(change: Change, pod: Json, arguments: Arguments) -> None:
    services = change.invocation.find("services")
    name, port = pod["metadata"]["name"], int(arguments.text("port"))
    service: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata_of(name),
        "spec": {
            "ports": [{"port": port, "protocol": "TCP", "targetPort": port}],
            "selector": pod["metadata"].get("labels") or {},
        },
        "status": {"loadBalancer": {}},
    }
    created = change.create(object_path(services, change.invocation.namespace), service)
    change.report(services, created, "created")
    if arguments.text("output") == "yaml":
        change.invocation.write("---\n")
