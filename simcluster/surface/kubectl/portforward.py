"""`kubectl port-forward`: says where it listens and blocks until it is interrupted.

Packets do not pass here: whoever owns the terminal asks `Kubectl.forwarding` which pod is
meant. If nobody interrupts it, it ends after 30 simulated seconds.
"""

from __future__ import annotations

from simcluster.api.objects import Json, name_of, namespace_of
from simcluster.surface.kubectl.bystanders import block
from simcluster.surface.kubectl.errors import plain, usage
from simcluster.surface.kubectl.flags import Arguments, Flag
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.podchoice import pods_behind
from simcluster.surface.kubectl.selection import of_arguments

FLAGS = (Flag("address", default="localhost", kind="list"), Flag("pod-running-timeout", kind="duration", default="1m"))


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl port-forward`."""
    words = arguments.positional
    if len(words) < 2:
        raise usage("port-forward", "TYPE/NAME and list of ports are required for port-forward")
    pods, _ = pods_behind(invocation, words[0])
    pod = pods[0]
    phase = (pod.get("status") or {}).get("phase")
    if phase != "Running":
        raise plain(f"unable to forward port because pod is not running. Current status={phase}")
    service = _service(invocation, words[0])
    for word in words[1:]:
        local, remote = _ports(word)
        if service is not None:
            remote = _target(service, pod, remote)
        if not remote.isdigit():
            remote = _named_port(pod, remote)
            local = local if local.isdigit() else remote
        invocation.line(f"Forwarding from 127.0.0.1:{local} -> {remote}")
        invocation.line(f"Forwarding from [::1]:{local} -> {remote}")
    invocation.forwarding = (namespace_of(pod), name_of(pod))
    block(invocation)


def _service(invocation: Invocation, word: str) -> Json | None:
    if "/" not in word:
        return None
    entry = of_arguments(invocation, [word])[0]
    return invocation.named(entry.path) if entry.resource.name == "services" else None


def _ports(word: str) -> tuple[str, str]:
    local, colon, remote = word.partition(":")
    if not colon:
        remote = local
    local = local or remote
    if not remote or (remote.isdigit() and not 0 < int(remote) < 65536):
        raise plain(f'error parsing remote port: strconv.ParseUint: parsing "{remote}": invalid syntax')
    return local, remote


def _named_port(pod: Json, name: str) -> str:
    """The number of a container's port. Raises KubectlError."""
    for container in pod["spec"]["containers"]:
        for declared in container.get("ports") or ():
            if declared.get("name") == name:
                return str(declared["containerPort"])
    raise plain(f"Pod '{name_of(pod)}' does not have a named port '{name}'")


def _target(service: Json, pod: Json, wanted: str) -> str:
    """The pod's port behind a port of the service. Raises KubectlError."""
    for port in service["spec"].get("ports") or ():
        if wanted not in (str(port["port"]), port.get("name")):
            continue
        target = port.get("targetPort", port["port"])
        if isinstance(target, int):
            return str(target)
        for container in pod["spec"]["containers"]:
            for declared in container.get("ports") or ():
                if declared.get("name") == target:
                    return str(declared["containerPort"])
    raise plain(f"Service {service['metadata']['name']} does not have a service port {wanted}")
