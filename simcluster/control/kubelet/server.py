"""The kubelets' own servers (port 10250): logs and exec, as the API server dials them.

Source: kubelet.go (validateContainerLogStatus), server.go, and recorded error texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from simcluster.api.backends import ExecAnswer, LogOptions
from simcluster.api.errors import ApiError, bad_request
from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.control.kubelet.kubelet import Kubelet
from simcluster.control.kubelet.mirrorpods import runtime_uid
from simcluster.engine import format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.runtime import RuntimeFailure


class KubeletServers:
    """Every kubelet of the cluster, by node name (implements `api.backends.KubeletProxy`)."""

    def __init__(self, kubelets: dict[str, Kubelet]) -> None:
        self.kubelets = kubelets

    def logs(self, pod: ApiObject, options: LogOptions) -> str:
        """Log text of a container. Raises ApiError as the real server answers."""
        if not pod["spec"].get("nodeName"):
            return ""
        path = f"containerLogs/{namespace_of(pod)}/{name_of(pod)}/{options.container}"
        kubelet = self._dial(pod, path)
        container = self._log_source(kubelet, pod, options)
        missing = container.log.missing
        if missing:  # the answer has begun when the kubelet finds out: the error is its text
            text = f'failed to try resolving symlinks in path "{missing}": lstat {missing}: no such file or directory'
            return text
        lines = container.log.read(tail=options.tail_lines, since_ns=options.since_ns)
        if options.timestamps:
            clock = kubelet.machine.os.clock  # the runtime stamps lines by the node's clock
            text = "".join(f"{format_rfc3339(clock.shown_ns(line.t_ns), digits=9)} {line.text}\n" for line in lines)
        else:
            text = "".join(f"{line.text}\n" for line in lines)
        if options.limit_bytes is not None:
            return text.encode()[: options.limit_bytes].decode("utf-8", "ignore")
        return text

    def exec(
        self, pod: ApiObject, container: str, argv: Sequence[str], stdin: str, patience_ns: int | None = None
    ) -> ExecAnswer:
        """Run a command in a container. Raises ApiError if it cannot be started."""
        kubelet = self._dial_stream(pod, container, argv, stdin)
        runtime = kubelet.machine.runtime
        target = runtime.newest(runtime_uid(pod), container)
        if target is None or not target.running:
            message = f'unable to upgrade connection: container not found ("{container}")'
            raise ApiError(500, "InternalError", f"Internal error occurred: {message}")
        try:
            result, lasted_ns = runtime.execute(target, tuple(argv), stdin, patience_ns)
        except RuntimeFailure as failure:
            message = f"error executing command in container: {failure}"
            # Said in the stream: the kubelet's own error inside of the API server's.
            nested = f"Internal error occurred: Internal error occurred: {message}"
            raise ApiError(500, "InternalError", nested) from None
        return ExecAnswer(result.stdout, result.stderr, result.code, lasted_ns)

    def _dial_stream(self, pod: ApiObject, container: str, argv: Sequence[str], stdin: str) -> Kubelet:
        """Dial for a stream: the client's connection is upgraded already, so the error comes inside of it."""
        try:
            return self._dial(pod, f"exec/{namespace_of(pod)}/{name_of(pod)}/{container}")
        except ApiError as error:
            url, _, cause = error.message.removeprefix('Get "').partition('": ')
            query = [("command", word) for word in argv]
            query += [("error", "1"), *((("input", "1"),) if stdin else ()), ("output", "1")]
            message = f'error sending request: Post "{url}?{urlencode(query)}": {cause}'
            raise ApiError(500, "InternalError", f"Internal error occurred: {message}") from None

    def _dial(self, pod: ApiObject, path: str) -> Kubelet:
        node = pod["spec"].get("nodeName", "")
        kubelet = self.kubelets.get(node)
        if kubelet is None:
            message = f"dial tcp: lookup {node} on 127.0.0.53:53: no such host"
            raise ApiError(500, "", f'Get "https://{node}:10250/{path}": {message}')
        address = f"{kubelet.machine.address}:{kubelet.config.port}"
        if not kubelet.machine.runs:  # nobody answers the API server's ARP: after three tries the kernel gives up
            message = f"dial tcp {address}: connect: no route to host"
            raise ApiError(500, "", f'Get "https://{address}/{path}": {message}')
        if not kubelet.running:
            message = f"dial tcp {address}: connect: connection refused"
            raise ApiError(500, "", f'Get "https://{address}/{path}": {message}')
        if kubelet.client.path().cut:
            raise ApiError(500, "", f'Get "https://{address}/{path}": dial tcp {address}: i/o timeout')
        return kubelet

    def _log_source(self, kubelet: Kubelet, pod: ApiObject, options: LogOptions) -> Container:
        name, runtime = options.container, kubelet.machine.runtime
        shown = f'container "{name}" in pod "{name_of(pod)}"'
        status = _reported(kubelet, pod, name)
        if status is None:
            raise bad_request(f"{shown} is not available")
        state, last = status["state"], status["lastState"]
        ended = (last.get("terminated") or {}).get("containerID", "")
        if options.previous:
            found = _run(runtime.runs.get(runtime_uid(pod), {}).get(name, []), ended)
            if found is None:
                raise bad_request(f"previous terminated {shown} not found")
            return found
        waiting = state.get("waiting")
        wanted = ended if waiting else status.get("containerID", "")
        found = _run(runtime.runs.get(runtime_uid(pod), {}).get(name, []), wanted)
        if found is not None:
            return found
        reason = waiting["reason"] if waiting else "ContainerCreating"
        if reason == "ErrImagePull":
            reason = "image can't be pulled"
        elif reason == "ImagePullBackOff":
            reason = "trying and failing to pull image"
        raise bad_request(f"{shown} is waiting to start: {reason}")


def _reported(kubelet: Kubelet, pod: ApiObject, name: str) -> dict[str, Any] | None:
    worker = kubelet.workers.get(runtime_uid(pod))
    status = worker.status if worker is not None else pod.get("status") or {}
    for key in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for entry in status.get(key) or ():
            if entry["name"] == name:
                found: dict[str, Any] = entry
                return found
    spec = pod["spec"]
    others = [*(spec.get("initContainers") or ()), *(spec.get("ephemeralContainers") or ())]
    if any(c["name"] == name for c in [*spec["containers"], *others]):
        return {"state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {}}
    return None


def _run(runs: list[Container], reported_id: str) -> Container | None:
    for run in runs:
        if reported_id and reported_id.endswith(run.container_id):
            return run
    return None
