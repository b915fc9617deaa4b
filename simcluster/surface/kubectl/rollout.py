"""`kubectl rollout status|restart|undo|history|pause|resume`.

Source of texts and conditions: k8s.io/kubectl/pkg/polymorphichelpers.
"""

from __future__ import annotations

from simcluster.api.objects import Json, condition, thaw
from simcluster.api.request import JSON_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.engine import SECOND, format_rfc3339
from simcluster.surface.kubectl import controllerrevisions, strategicdiff
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.describe.containers import pod_template
from simcluster.surface.kubectl.describe.page import Page
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, SELECTOR, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation
from simcluster.surface.kubectl.printers.output import Output
from simcluster.surface.kubectl.printers.tabwriter import align
from simcluster.surface.kubectl.revisions import (
    CHANGE_CAUSE,
    REVISION,
    new_replica_set,
    replica_sets_of,
    revision_of,
    without_hash,
)
from simcluster.surface.kubectl.selection import Target, fetch, kind_name
from simcluster.surface.kubectl.waiting import follow

STATUS_FLAGS = (
    *FILES,
    SELECTOR,
    Flag("revision", kind="int", default="0"),
    Flag("timeout", kind="duration", default="0s"),
    switch("watch", "w", default="true"),
)
RESTART_FLAGS = (*FILES, SELECTOR, *OUTPUT, manager("kubectl-rollout"))
UNDO_FLAGS = (*FILES, SELECTOR, *OUTPUT, DRY_RUN, Flag("to-revision", kind="int", default="0"))
HISTORY_FLAGS = (*FILES, SELECTOR, *OUTPUT, Flag("revision", kind="int", default="0"))

_RESTARTED = "kubectl.kubernetes.io/restartedAt"
#: How long `rollout status` waits without --timeout: the real one waits for ever.
_FOREVER_NS = 3600 * SECOND
#: Annotations of a deployment that a roll back leaves alone.
_KEPT_KINDS = ("deployments.apps", "daemonsets.apps", "statefulsets.apps")


def _targets(invocation: Invocation, arguments: Arguments) -> tuple[list[Target], list[KubectlError]]:
    if not arguments.positional and not arguments.texts("filename"):
        raise plain("required resource not specified")
    targets, failures = fetch(invocation, arguments, arguments.positional, need_name=False)
    return targets, failures.errors


# Status.


def status(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl rollout status`."""
    targets, errors = _targets(invocation, arguments)
    if errors:
        raise errors[0]
    for target in targets:
        _follow_rollout(invocation, arguments, target)


def _follow_rollout(invocation: Invocation, arguments: Arguments, target: Target) -> None:
    if target.resource.name not in _KEPT_KINDS:
        raise plain(f"no status viewer has been implemented for {_group_kind(target)}")
    timeout_ns = arguments.duration_ns("timeout") or _FOREVER_NS
    revision = arguments.number("revision")
    for obj in follow(invocation, target.resource, target.namespace, target.name, timeout_ns):
        if obj is None:
            raise plain("object has been deleted")
        text, done = _STATUS[target.resource.name](obj, revision)
        invocation.write(text)
        if done or not arguments.on("watch"):
            return
    raise plain("timed out waiting for the condition")


def deployment_status(obj: Json, revision: int = 0) -> tuple[str, bool]:
    """The line that `rollout status` prints about a deployment, and whether it is done.

    Raises:
        KubectlError: the progress deadline is exceeded, or another revision is wanted.
    """
    name, spec, status_ = obj["metadata"]["name"], obj["spec"], obj.get("status") or {}
    if revision > 0 and revision_of(obj) != revision:
        raise plain(f"desired revision ({revision}) is different from the running revision ({revision_of(obj)})")
    if obj["metadata"].get("generation", 1) > status_.get("observedGeneration", 0):
        return "Waiting for deployment spec update to be observed...\n", False
    progressing = condition(obj, "Progressing")
    if progressing is not None and progressing.get("reason") == "ProgressDeadlineExceeded":
        raise plain(f'deployment "{name}" exceeded its progress deadline')
    replicas = spec.get("replicas", 1)
    updated, available = status_.get("updatedReplicas", 0), status_.get("availableReplicas", 0)
    waiting = f'Waiting for deployment "{name}" rollout to finish: '
    if updated < replicas:
        return f"{waiting}{updated} out of {replicas} new replicas have been updated...\n", False
    if status_.get("replicas", 0) > updated:
        return f"{waiting}{status_.get('replicas', 0) - updated} old replicas are pending termination...\n", False
    if available < updated:
        return f"{waiting}{available} of {updated} updated replicas are available...\n", False
    return f'deployment "{name}" successfully rolled out\n', True


def daemon_set_status(obj: Json, revision: int = 0) -> tuple[str, bool]:
    """The same for a daemon set."""
    name, status_ = obj["metadata"]["name"], obj.get("status") or {}
    if obj["spec"].get("updateStrategy", {}).get("type", "RollingUpdate") != "RollingUpdate":
        raise plain("rollout status is only available for RollingUpdate strategy type")
    if obj["metadata"].get("generation", 1) > status_.get("observedGeneration", 0):
        return "Waiting for daemon set spec update to be observed...\n", False
    desired, updated = status_.get("desiredNumberScheduled", 0), status_.get("updatedNumberScheduled", 0)
    waiting = f'Waiting for daemon set "{name}" rollout to finish: '
    if updated < desired:
        return f"{waiting}{updated} out of {desired} new pods have been updated...\n", False
    if status_.get("numberAvailable", 0) < desired:
        return f"{waiting}{status_.get('numberAvailable', 0)} of {desired} updated pods are available...\n", False
    return f'daemon set "{name}" successfully rolled out\n', True


def stateful_set_status(obj: Json, revision: int = 0) -> tuple[str, bool]:
    """The same for a stateful set."""
    spec, status_ = obj["spec"], obj.get("status") or {}
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        raise plain("rollout status is only available for RollingUpdate strategy type")
    if status_.get("observedGeneration", 0) < obj["metadata"].get("generation", 1):
        return "Waiting for statefulset spec update to be observed...\n", False
    replicas, ready = spec.get("replicas", 1), status_.get("readyReplicas", 0)
    updated = status_.get("updatedReplicas", 0)
    if ready < replicas:
        return f"Waiting for {replicas - ready} pods to be ready...\n", False
    if strategy.get("rollingUpdate") is not None:
        wanted = replicas - strategy["rollingUpdate"].get("partition", 0)
        if updated < wanted:
            return (
                f"Waiting for partitioned roll out to finish: {updated} out of {wanted} new pods "
                "have been updated...\n",
                False,
            )
        return f"partitioned roll out complete: {updated} new pods have been updated...\n", True
    if status_.get("updateRevision") != status_.get("currentRevision"):
        return (
            f"waiting for statefulset rolling update to complete {updated} pods at revision "
            f"{status_.get('updateRevision')}...\n",
            False,
        )
    return (
        f"statefulset rolling update complete {status_.get('currentReplicas', 0)} pods at revision "
        f"{status_.get('currentRevision')}...\n",
        True,
    )


_STATUS = {
    "deployments.apps": deployment_status,
    "daemonsets.apps": daemon_set_status,
    "statefulsets.apps": stateful_set_status,
}


# Restart, pause, resume.


class _Edit:
    """Patches one object by what an edit of a copy makes of it."""

    def __init__(self, change: Change, target: Target, verb: str) -> None:
        self.change = change
        self.target = target
        self.verb = verb

    def run(self) -> None:
        before = self.target.obj
        after = thaw(before)
        done = getattr(self, f"_{self.verb}")(after)
        patch = strategicdiff.two_way(before, after, self.target.resource)
        changed = self.change.patch(self.target, patch, STRATEGIC_MERGE_PATCH)
        self.change.report(self.target.resource, changed, done)

    def _restart(self, obj: Json) -> str:
        if self.target.resource.name not in _KEPT_KINDS:
            raise plain(f'{self.target.resource.name} "{self.target.name}" restarting is not supported')
        if obj["spec"].get("paused"):
            raise plain(
                f'{self.target.resource.name} "{self.target.name}" can\'t restart paused deployment '
                "(run rollout resume first)"
            )
        metadata = obj["spec"]["template"].setdefault("metadata", {})
        now = format_rfc3339(self.change.invocation.clock.now)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _RESTARTED: now}
        return "restarted"

    def _pause(self, obj: Json) -> str:
        self._deployment_only("pausing")
        if obj["spec"].get("paused"):
            raise plain(f'{self.target.resource.name} "{self.target.name}" is already paused')
        obj["spec"]["paused"] = True
        return "paused"

    def _resume(self, obj: Json) -> str:
        self._deployment_only("resuming")
        if not obj["spec"].get("paused"):
            raise plain(f'{self.target.resource.name} "{self.target.name}" is not paused')
        del obj["spec"]["paused"]
        return "resumed"

    def _deployment_only(self, doing: str) -> None:
        if self.target.resource.name != "deployments.apps":
            raise plain(f'{self.target.resource.name} "{self.target.name}" {doing} is not supported')


def _edit_all(invocation: Invocation, arguments: Arguments, verb: str) -> None:
    targets, errors = _targets(invocation, arguments)
    change = Change(invocation, arguments)
    failures = Failures()
    failures.errors.extend(errors)
    for target in targets:
        failures.attempt(_Edit(change, target, verb).run)
    if not targets and not failures.errors:
        invocation.note(f"No resources found in {invocation.namespace} namespace.")
    failures.raise_all()


def restart(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl rollout restart`."""
    _edit_all(invocation, arguments, "restart")


def pause(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl rollout pause`."""
    _edit_all(invocation, arguments, "pause")


def resume(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl rollout resume`."""
    _edit_all(invocation, arguments, "resume")


# Undo and history.


def undo(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl rollout undo`."""
    targets, errors = _targets(invocation, arguments)
    if errors:
        raise errors[0]
    change = Change(invocation, arguments)
    for target in targets:
        _undo(change, target, arguments.number("to-revision"))


def _undo(change: Change, target: Target, to_revision: int) -> None:
    deployment = target.obj
    if target.resource.name not in _KEPT_KINDS:
        raise plain(f'no rollbacker has been implemented for "{_group_kind(target)}"')
    if to_revision < 0:
        raise plain("unable to find specified revision " + str(to_revision) + " in history")
    if target.resource.name in controllerrevisions.KINDS:
        controllerrevisions.undo(change, target, to_revision)
        return
    chosen = _revision_to_return_to(change.invocation, deployment, to_revision)
    if change.mode == "client":
        page = Page(change.invocation)
        pod_template(page, chosen["spec"]["template"])
        change.report(target.resource, deployment, page.raw)
        return
    if deployment["spec"].get("paused"):
        raise plain(
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again"
        )
    template = without_hash(chosen["spec"]["template"])
    if template == without_hash(deployment["spec"]["template"]):
        change.report(
            target.resource,
            deployment,
            f"skipped rollback (current template already matches revision {revision_of(chosen)})",
        )
        return
    annotations = _annotations_after(deployment, chosen)
    patch = [
        {"op": "replace", "path": "/spec/template", "value": template},
        {"op": "replace", "path": "/metadata/annotations", "value": annotations},
    ]
    changed = change.patch(target, patch, JSON_PATCH)
    change.report(target.resource, changed, "rolled back")


#: Annotations of a replica set that belong to its deployment's controller.
_CONTROLLER_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
)


def _annotations_after(deployment: Json, chosen: Json) -> dict[str, str]:
    """The deployment's own bookkeeping, everything else from the chosen revision."""
    kept = {
        key: value
        for key, value in (deployment["metadata"].get("annotations") or {}).items()
        if key in _CONTROLLER_ANNOTATIONS
    }
    for key, value in (chosen["metadata"].get("annotations") or {}).items():
        if key not in _CONTROLLER_ANNOTATIONS:
            kept[key] = value
    return kept


def _revision_to_return_to(invocation: Invocation, deployment: Json, to_revision: int) -> Json:
    owned = replica_sets_of(invocation, deployment)
    by_revision = {revision_of(replica_set): replica_set for replica_set in owned}
    if to_revision > 0:
        if to_revision not in by_revision:
            raise plain(f"unable to find specified revision {to_revision} in history")
        return by_revision[to_revision]
    newest = new_replica_set(deployment, owned)
    older = sorted(revision for revision in by_revision if newest is None or revision != revision_of(newest))
    if not older:
        raise plain(f'no rollout history found for deployment "{deployment["metadata"]["name"]}"')
    return by_revision[older[-1]]


def _group_kind(target: Target) -> str:
    """`ReplicaSet.apps`, `Pod`."""
    return f"{target.resource.kind}.{target.resource.group}" if target.resource.group else target.resource.kind


def history(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl rollout history`."""
    targets, errors = _targets(invocation, arguments)
    if errors:
        raise errors[0]
    for target in targets:
        _history(invocation, arguments, target)


class _Past:
    """The revisions of one object.

    Attributes:
        causes: change cause of each revision, empty for none.
    """

    def __init__(self, invocation: Invocation, target: Target) -> None:
        self.causes: dict[int, str] = {}
        self._templates: dict[int, Json] = {}
        self._carriers: dict[int, Json] = {}
        if target.resource.name in controllerrevisions.KINDS:
            for number, revision in controllerrevisions.revisions_of(invocation, target).items():
                self._put(number, controllerrevisions.template_of(target, revision), revision)
        else:
            for replica_set in replica_sets_of(invocation, target.obj):
                self._put(revision_of(replica_set), replica_set["spec"]["template"], replica_set)

    def _put(self, number: int, template: Json, carrier: Json) -> None:
        self.causes[number] = (carrier["metadata"].get("annotations") or {}).get(CHANGE_CAUSE) or ""
        self._templates[number] = _with_cause(template, self.causes[number])
        self._carriers[number] = carrier

    def carrier(self, number: int) -> Json:
        """The object that holds a revision. Raises KubectlError."""
        if number not in self._carriers:
            raise plain("unable to find the specified revision")
        return self._carriers[number]

    def template(self, number: int) -> Json:
        """The pod template of a revision. Raises KubectlError."""
        if number not in self._templates:
            raise plain("unable to find the specified revision")
        return self._templates[number]


def _history(invocation: Invocation, arguments: Arguments, target: Target) -> None:
    if target.resource.name not in _KEPT_KINDS:
        raise plain(f'no history viewer has been implemented for "{_group_kind(target)}"')
    revision = arguments.number("revision")
    if revision < 0:
        raise plain(f"revision must be a positive integer: {revision}")
    past = _Past(invocation, target)
    output = Output(arguments, invocation.files)
    if output.format:
        numbers = [revision] if revision > 0 else sorted(past.causes)
        invocation.write("---\n".join(output.text([past.carrier(n)], as_list=False) for n in numbers))
        return
    shown = f"{kind_name(target.resource)}/{target.name}"
    if revision > 0:
        if not past.causes:
            invocation.line(f"{shown} with revision #{revision}\nNo rollout history found.")
            return
        template = past.template(revision)
        invocation.line(f"{shown} with revision #{revision}")
        page = Page(invocation)
        pod_template(page, template)
        invocation.line(page.raw)
        return
    invocation.line(f"{shown} ")
    if not past.causes:
        invocation.line("No rollout history found.")
        return
    lines = ["REVISION\tCHANGE-CAUSE"]
    lines += [f"{number}\t{past.causes[number] or '<none>'}" for number in sorted(past.causes)]
    invocation.line(align("\n".join(lines) + "\n"))


def _with_cause(template: Json, cause: str) -> Json:
    """The template with the change cause among its annotations."""
    if not cause:
        return dict(template)
    metadata = template.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), CHANGE_CAUSE: cause}
    return {**template, "metadata": {**metadata, "annotations": annotations}}
