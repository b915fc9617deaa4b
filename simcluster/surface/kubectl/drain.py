"""`kubectl drain`: cordons a node and evicts its pods."""

from __future__ import annotations

from simcluster.api.objects import Json, controller_of, name_of, namespace_of
from simcluster.engine import SECOND, parse_rfc3339
from simcluster.surface.kubectl import cordon
from simcluster.surface.kubectl.errors import KubectlError, StatusError
from simcluster.surface.kubectl.flags import DRY_RUN, SELECTOR, Arguments, Flag, dry_run, switch
from simcluster.surface.kubectl.invocation import STEP_NS, Failures, Invocation, query_of

FLAGS = (
    DRY_RUN,
    SELECTOR,
    Flag("chunk-size", kind="int", default="500"),
    switch("delete-emptydir-data"),
    switch("disable-eviction"),
    switch("force"),
    Flag("grace-period", kind="int", default="-1"),
    switch("ignore-daemonsets"),
    Flag("pod-selector"),
    Flag("skip-wait-for-delete-timeout", kind="int", default="0"),
    Flag("timeout", kind="duration", default="0s"),
)

#: Pause before an eviction that a disruption budget refused is tried again.
_RETRY_NS = 5 * SECOND
_FOREVER_NS = 24 * 3600 * SECOND


class _Chosen:
    """Which pods of a node go, which stay, and why draining must stop."""

    def __init__(self) -> None:
        self.going: list[Json] = []
        self.errors: dict[str, list[str]] = {}
        self.warnings: dict[str, list[str]] = {}


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl drain`."""
    failures = Failures()
    nodes = cordon.nodes(invocation, arguments, failures)
    failures.raise_all()
    mode = dry_run(arguments)
    for node in nodes:
        cordon.mark(invocation, node, mode, unschedulable=True)
    drained: list[str] = []
    problems: list[str] = []
    for node in nodes:
        name = name_of(node)
        try:
            _drain(invocation, arguments, name, mode)
        except KubectlError as error:
            listed = error.inner if "\n" not in error.inner else "[" + ", ".join(error.inner.split("\n")) + "]"
            problems.append(listed if len(nodes) > 1 else error.inner)
            invocation.note(f'error: unable to drain node "{name}" due to error: {listed}, continuing command...')
            continue
        drained.append(name)
        word = {"none": "", "client": " (dry run)", "server": " (server dry run)"}[mode]
        invocation.line(f"node/{name} drained{word}")
    if problems:
        pending = [name_of(node) for node in nodes if name_of(node) not in drained]
        invocation.note("There are pending nodes to be drained:\n" + "\n".join(f" {name}" for name in pending))
        raise KubectlError("\n".join(problems))


def _drain(invocation: Invocation, arguments: Arguments, node: str, mode: str) -> None:
    query = query_of(fieldSelector=f"spec.nodeName={node}", labelSelector=arguments.text("pod-selector"), limit=500)
    chosen = _choose(invocation, arguments, invocation.items("/api/v1/pods", query))
    if chosen.errors:
        raise KubectlError("\n".join(f"{why}: {', '.join(names)}" for why, names in chosen.errors.items()))
    if chosen.warnings:
        listed = "; ".join(f"{why}: {', '.join(names)}" for why, names in chosen.warnings.items())
        invocation.note(f"Warning: {listed}")
    if mode != "none":
        for pod in chosen.going:
            invocation.line(
                f"evicting pod {namespace_of(pod)}/{name_of(pod)} ({'server ' if mode == 'server' else ''}dry run)"
            )
        return
    _Evictions(invocation, arguments, node).evict(chosen.going)


def _choose(invocation: Invocation, arguments: Arguments, pods: list[Json]) -> _Chosen:
    chosen = _Chosen()
    for pod in pods:
        error, warning, goes = _verdict(invocation, arguments, pod)
        shown = f"{namespace_of(pod)}/{name_of(pod)}"
        if error:
            chosen.errors.setdefault(error, []).append(shown)
        if warning:
            chosen.warnings.setdefault(warning, []).append(shown)
        if goes:
            chosen.going.append(pod)
    return chosen


def _verdict(invocation: Invocation, arguments: Arguments, pod: Json) -> tuple[str, str, bool]:
    """Error, warning, and whether the pod goes. Source: k8s.io/kubectl/pkg/drain/filters.go."""
    if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {}):
        return "", "", False
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    owner = controller_of(pod)
    if owner is not None and owner["kind"] == "DaemonSet" and not finished:
        if arguments.on("ignore-daemonsets"):
            return "", "ignoring DaemonSet-managed Pods", False
        return "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", "", False
    local = any("emptyDir" in volume for volume in pod["spec"].get("volumes") or ())
    if local and not finished and not arguments.on("delete-emptydir-data"):
        return "cannot delete Pods with local storage (use --delete-emptydir-data to override)", "", False
    # That a pod loses its local storage is not said: the filter after it has the last word.
    if owner is None and not finished:
        if not arguments.on("force"):
            return "cannot delete cannot delete Pods that declare no controller (use --force to override)", "", False
        return "", "deleting Pods that declare no controller", True
    return "", "", True


class _Evictions:
    """Evicts pods and waits until they are gone.

    Each pod goes its own way until its own end, as with one goroutine for each: a refused
    eviction is tried again after five seconds, and only then is the timeout noticed.
    """

    def __init__(self, invocation: Invocation, arguments: Arguments, node: str) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.node = node
        self.timeout_ns = arguments.duration_ns("timeout") or _FOREVER_NS
        self.deadline = invocation.clock.now + self.timeout_ns
        self.reached = f"global timeout reached: {_go_seconds(self.timeout_ns)}"
        self.errors: list[KubectlError] = []

    def evict(self, pods: list[Json]) -> None:
        """Evict them all. Raises KubectlError for those that did not go."""
        clock = self.invocation.clock
        waiting = [(clock.now, pod) for pod in pods]
        going: list[Json] = []
        while waiting or going:
            due = [pod for at_ns, pod in waiting if at_ns <= clock.now]
            waiting = [(at_ns, pod) for at_ns, pod in waiting if at_ns > clock.now]
            for pod in due:
                outcome = self._attempt(pod)
                if outcome == "going":
                    going.append(pod)
                elif outcome == "refused":
                    waiting.append((clock.now + _RETRY_NS, pod))
            going = [pod for pod in going if not self._finished(pod)]
            if waiting or going:
                clock.advance(STEP_NS)
        if self.errors:
            self._give_up()

    def _attempt(self, pod: Json) -> str:
        """Try to evict: `going`, `refused` for now, or `over`."""
        shown = f'pods/"{name_of(pod)}" -n "{namespace_of(pod)}"'
        verb = "deleting" if self.arguments.on("disable-eviction") else "evicting"
        self.invocation.line(f"{verb} pod {namespace_of(pod)}/{name_of(pod)}")
        if self.invocation.clock.now >= self.deadline:
            self.errors.append(KubectlError(f"error when {verb} {shown}: {self.reached}"))
            return "over"
        try:
            self._send(pod)
        except StatusError as error:
            if error.reason == "NotFound":
                return "over"
            if error.reason == "TooManyRequests":
                self.invocation.note(f"error when {verb} {shown} (will retry after 5s): {error.message}")
                return "refused"
            self.errors.append(KubectlError(f"error when {verb} {shown}: {error.inner}"))
            return "over"
        return "going"

    def _send(self, pod: Json) -> None:
        namespace, name = namespace_of(pod), name_of(pod)
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        options: Json = {}
        if self.arguments.number("grace-period") >= 0:
            options["gracePeriodSeconds"] = self.arguments.number("grace-period")
        if self.arguments.on("disable-eviction"):
            self.invocation.ask("DELETE", path, body={"apiVersion": "v1", "kind": "DeleteOptions", **options})
            return
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        self.invocation.ask("POST", f"{path}/eviction", body=body)

    def _finished(self, pod: Json) -> bool:
        """Whether there is nothing more to wait for."""
        verb = "deleted" if self.arguments.on("disable-eviction") else "evicted"
        if self._gone(pod):
            self.invocation.line(f"pod/{name_of(pod)} {verb}")
            return True
        if self.invocation.clock.now < self.deadline:
            return False
        shown = f'pod "{name_of(pod)}" in namespace "{namespace_of(pod)}"'
        self.errors.append(KubectlError(f"error when waiting for {shown} to terminate: {self.reached}"))
        return True

    def _gone(self, pod: Json) -> bool:
        path = f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}"
        try:
            present = self.invocation.get(path)
        except StatusError as error:
            return error.reason == "NotFound"
        if present["metadata"]["uid"] != pod["metadata"]["uid"]:
            return True
        skip_s = self.arguments.number("skip-wait-for-delete-timeout")
        deleted = present["metadata"].get("deletionTimestamp")
        return bool(skip_s and deleted and self.invocation.clock.now - parse_rfc3339(deleted) > skip_s * SECOND)

    def _give_up(self) -> None:
        text = "\n".join(error.text for error in self.errors)
        shown = text if len(self.errors) == 1 else "[" + ", ".join(error.text for error in self.errors) + "]"
        self.invocation.note(f'There are pending pods in node "{self.node}" when an error occurred: {shown}')
        query = query_of(
            fieldSelector=f"spec.nodeName={self.node}", labelSelector=self.arguments.text("pod-selector"), limit=500
        )
        for pod in _choose(self.invocation, self.arguments, self.invocation.items("/api/v1/pods", query)).going:
            self.invocation.note(f"pod/{name_of(pod)}")
        raise KubectlError(text)


def _go_seconds(duration_ns: int) -> str:
    """A duration of whole seconds as Go prints it: `7s`, `1m30s`, `2h0m0s`."""
    seconds = duration_ns // SECOND
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
