"""`kubectl debug`: an ephemeral container in a pod, a copy of a pod, or a pod on a node with its file system.

Texts and profiles are those of k8s.io/kubectl/pkg/cmd/debug (debug.go, profiles.go).
"""

from __future__ import annotations

import hashlib
from typing import Any

from simcluster.api.objects import Json, name_of, thaw
from simcluster.api.request import STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.attaching import Attachment
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import FILES, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path
from simcluster.surface.kubectl.selection import Wanted, of_arguments

FLAGS = (
    *FILES,
    switch("arguments-only"),
    switch("attach"),
    Flag("container", "c"),
    Flag("copy-to"),
    Flag("custom"),
    Flag("env", kind="array"),
    Flag("image"),
    Flag("image-pull-policy"),
    switch("keep-annotations"),
    switch("keep-init-containers", default="true"),
    switch("keep-labels"),
    switch("keep-liveness"),
    switch("keep-readiness"),
    switch("keep-startup"),
    Flag("profile", default="legacy"),
    switch("quiet", "q"),
    switch("replace"),
    switch("same-node"),
    Flag("set-image", kind="list"),
    switch("share-processes", default="true"),
    switch("stdin", "i"),
    Flag("target"),
    switch("tty", "t"),
)

_PROFILES = ("legacy", "general", "baseline", "netadmin", "restricted", "sysadmin")
_LEGACY = (
    "--profile=legacy is deprecated and will be removed in the future. It is recommended to explicitly specify a "
    'profile, for example "--profile=general".'
)
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_RUNNING_NS = 60_000_000_000


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl debug`."""
    words = list(arguments.positional[: arguments.dash] if arguments.dash >= 0 else arguments.positional)
    command = list(arguments.positional[arguments.dash :]) if arguments.dash >= 0 else []
    _check(arguments, words, command)
    if arguments.text("profile") == "legacy":
        invocation.note(_LEGACY)
    failures = Failures()
    for entry in of_arguments(invocation, words if "/" in words[0] else ["pods", *words]):
        failures.attempt(_Debugging(invocation, arguments, command, entry).run)
    failures.raise_all()


def _check(arguments: Arguments, words: list[str], command: list[str]) -> None:
    copy_to, image, set_image = arguments.text("copy-to"), arguments.text("image"), arguments.texts("set-image")
    if copy_to:
        if not image and not set_image and not command:
            raise plain("you must specify --image, --set-image or command arguments.")
        if arguments.text("target"):
            raise plain("--target is incompatible with --copy-to. Use --share-processes instead.")
    else:
        for flag in ("replace", "same-node"):
            if arguments.on(flag):
                raise plain(f"--{flag} may only be used with --copy-to.")
        if set_image:
            raise plain("--set-image may only be used with --copy-to.")
        if not image:
            raise plain("you must specify --image when not using --copy-to.")
    if not words:
        raise plain("NAME or TYPE/NAME is required for debug")
    if image and set_image:
        raise plain("you may not specify --image and --set-image.")
    profile = arguments.text("profile")
    if profile not in _PROFILES:
        raise plain(f"unknown profile: {profile}")


class _Debugging:
    """Debugs one pod or node."""

    def __init__(self, invocation: Invocation, arguments: Arguments, command: list[str], entry: Wanted) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.command = command
        self.entry = entry
        self.profile = arguments.text("profile")

    def run(self) -> None:
        entry, arguments = self.entry, self.arguments
        obj = self.invocation.named(entry.path)
        if entry.resource.name == "nodes":
            pod, container = self._on_node(obj)
        elif entry.resource.name != "pods":
            group = (
                f"{entry.resource.group}/{entry.resource.version}" if entry.resource.group else entry.resource.version
            )
            raise plain(f'"{group}, Kind={entry.resource.kind}" not supported by debug')
        elif arguments.text("copy-to"):
            pod, container = self._copy(obj)
        else:
            pod, container = self._ephemeral(obj)
        attach = arguments.on("attach") if arguments.given("attach") else arguments.on("stdin")
        if attach and container:
            attachment = Attachment(self.invocation, pod, container)
            attachment.wait_until_begun(_RUNNING_NS)
            attachment.greet(arguments)
            attachment.follow()

    def _say(self, text: str) -> None:
        if not self.arguments.on("quiet"):
            self.invocation.line(text)

    def _suffix(self, obj: Json) -> str:
        """Five letters, from what is debugged and when."""
        seed = f"{obj['metadata']['uid']}{obj['metadata'].get('resourceVersion')}{self.invocation.clock.now}"
        digest = hashlib.blake2b(seed.encode(), digest_size=5).digest()
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest)

    # An ephemeral container.

    def _ephemeral(self, pod: Json) -> tuple[Json, str]:
        arguments = self.arguments
        name = self._container_name(pod)
        container = self._container(name)
        if arguments.text("target"):
            container["targetContainerName"] = arguments.text("target")
            self._say(
                f'Targeting container "{arguments.text("target")}". If you don\'t see processes from this container '
                "it may be because the container runtime doesn't support this feature."
            )
        _secure(container, {"general": ["SYS_PTRACE"], "netadmin": ["NET_ADMIN", "NET_RAW"]}, self.profile)
        after = thaw(pod)
        after["spec"]["ephemeralContainers"] = [*(after["spec"].get("ephemeralContainers") or ()), container]
        patch = strategicdiff.two_way(pod, after, self.entry.resource)
        path = f"{self.entry.path}/ephemeralcontainers"
        try:
            answer = self.invocation.ask("PATCH", path, body=patch, content_type=STRATEGIC_MERGE_PATCH)
        except StatusError as error:
            if error.reason == "NotFound":
                raise plain(
                    f"ephemeral containers are disabled for this cluster (error from server: {error.message!r})."
                ) from None
            raise
        changed: Json = answer.body
        return changed, name

    def _container_name(self, pod: Json) -> str:
        if self.arguments.text("container"):
            return self.arguments.text("container")
        name = f"debugger-{self._suffix(pod)}"
        self._say(f"Defaulting debug container name to {name}.")
        return name

    def _container(self, name: str) -> Json:
        arguments = self.arguments
        container: Json = {"name": name, "image": arguments.text("image"), "resources": {}}
        container["terminationMessagePolicy"] = "File"
        if arguments.text("image-pull-policy"):
            container["imagePullPolicy"] = arguments.text("image-pull-policy")
        if arguments.texts("env"):
            pairs = [pair.partition("=") for pair in arguments.texts("env")]
            container["env"] = [{"name": key, "value": value} for key, _, value in pairs]
        for flag in ("stdin", "tty"):
            if arguments.on(flag):
                container[flag] = True
        if self.command:
            container["args" if arguments.on("arguments-only") else "command"] = self.command
        return container

    # A pod on a node.

    def _on_node(self, node: Json) -> tuple[Json, str]:
        name = name_of(node)
        container = self._container(self.arguments.text("container") or "debugger")
        spec: Json = {
            "containers": [container],
            "nodeName": name,
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
        }
        if self.profile != "restricted":
            container["volumeMounts"] = [{"mountPath": "/host", "name": "host-root"}]
            spec["volumes"] = [{"hostPath": {"path": "/"}, "name": "host-root"}]
        if self.profile in ("legacy", "general", "sysadmin"):
            spec |= {"hostIPC": True, "hostNetwork": True, "hostPID": True}
        elif self.profile == "netadmin":
            spec |= {"hostNetwork": True, "hostPID": True}
        _secure(container, {"netadmin": ["NET_ADMIN", "NET_RAW"]}, self.profile)
        pod_name = f"node-debugger-{name}-{self._suffix(node)}"
        labels = {"app.kubernetes.io/managed-by": "kubectl-debug"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": labels, "name": pod_name}, "spec": spec}
        self._say(f"Creating debugging pod {pod_name} with container {container['name']} on node {name}.")
        return self._create(pod), container["name"]

    def _create(self, pod: Json) -> Json:
        pods = self.invocation.find("pods")
        created: Json = self.invocation.ask("POST", object_path(pods, self.invocation.namespace), body=pod).body
        return created

    # A copy of a pod.

    def _copy(self, original: Json) -> tuple[Json, str]:
        arguments = self.arguments
        spec = thaw(original["spec"])
        for key in ("ephemeralContainers",) if arguments.on("same-node") else ("ephemeralContainers", "nodeName"):
            spec.pop(key, None)
        if not arguments.on("keep-init-containers"):
            spec.pop("initContainers", None)
        for container in spec["containers"]:
            for kind in ("liveness", "readiness", "startup"):
                if not arguments.on(f"keep-{kind}"):
                    container.pop(f"{kind}Probe", None)
        _set_images(spec, arguments.texts("set-image"))
        name = self._add_debugger(original, spec)
        if arguments.given("share-processes") or arguments.text("image"):
            spec["shareProcessNamespace"] = arguments.on("share-processes")
        metadata: Json = {"name": arguments.text("copy-to")}
        for key, flag in (("labels", "keep-labels"), ("annotations", "keep-annotations")):
            if arguments.on(flag) and original["metadata"].get(key):
                metadata[key] = dict(original["metadata"][key])
        if arguments.on("replace"):
            self.invocation.ask("DELETE", self.entry.path, body={"gracePeriodSeconds": 0})
        pod = self._create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        return pod, name

    def _add_debugger(self, original: Json, spec: Json) -> str:
        """Change the named container, or add one; its name."""
        arguments = self.arguments
        wanted = arguments.text("container")
        for container in spec["containers"]:
            if container["name"] == wanted:
                if arguments.text("image"):
                    container["image"] = arguments.text("image")
                if self.command:
                    container["command"] = self.command
                    container.pop("args", None)
                for flag in ("stdin", "tty"):
                    if arguments.on(flag):
                        container[flag] = True
                return wanted
        if not arguments.text("image"):
            if wanted:
                raise plain("you must specify image when creating new container")
            if self.command:
                raise plain("you must specify an existing container or a new image when specifying args.")
            return ""
        name = self._container_name(original)
        added = self._container(name)
        _secure(added, {"general": ["SYS_PTRACE"], "netadmin": ["NET_ADMIN", "NET_RAW"]}, self.profile)
        spec["containers"].append(added)
        return name


def _set_images(spec: Json, pairs: list[str]) -> None:
    images = dict(pair.partition("=")[::2] for pair in pairs)
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        image = images.get(container["name"], images.get("*"))
        if image:
            container["image"] = image


def _secure(container: Json, capabilities: dict[str, list[str]], profile: str) -> None:
    context: dict[str, Any] = {}
    if profile in capabilities:
        context = {"capabilities": {"add": capabilities[profile]}}
    elif profile == "sysadmin":
        context = {"privileged": True}
    elif profile == "restricted":
        context = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    if context:
        container["securityContext"] = context
