"""`kubectl scale`."""

from __future__ import annotations

from simcluster.api.request import MERGE_PATCH
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, SELECTOR, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (
    *FILES,
    SELECTOR,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    switch("all"),
    Flag("current-replicas", kind="int", default="-1"),
    Flag("replicas", kind="int", default="0"),
    Flag("resource-version"),
    Flag("timeout", kind="duration", default="0s"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl scale`."""
    if not arguments.given("replicas"):
        raise plain('required flag(s) "replicas" not set')
    if arguments.number("replicas") < 0:
        raise plain("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0")
    change = Change(invocation, arguments)
    targets, failures = fetch(invocation, arguments, arguments.positional)
    if not targets and failures.errors:
        raise plain("no objects passed to scale " + " ".join(error.inner for error in failures.errors))
    if not targets:
        raise plain("no objects passed to scale")
    unknown, failures = failures, Failures()
    for target in targets:
        failures.attempt(_Scaling(change, target).run)
    failures.errors.extend(unknown.errors)
    failures.raise_all()


class _Scaling:
    """Scales one object."""

    def __init__(self, change: Change, target: Target) -> None:
        self.change = change
        self.target = target

    def run(self) -> None:
        change, target, arguments = self.change, self.target, self.change.arguments
        if "scale" not in target.resource.subresources:
            raise KubectlError("Error from server (NotFound): the server could not find the requested resource")
        replicas = target.obj["spec"].get("replicas", 1)
        expected = arguments.number("current-replicas")
        if expected >= 0 and expected != replicas:
            raise plain(f"Expected replicas to be {expected}, was {replicas}")
        version = arguments.text("resource-version")
        if version and version != target.obj["metadata"]["resourceVersion"]:
            raise plain(f"Expected resource version to be {version}, was {target.obj['metadata']['resourceVersion']}")
        patch = {"spec": {"replicas": arguments.number("replicas")}}
        change.patch(target, patch, MERGE_PATCH, subresource="scale")
        change.record(target, target.obj)
        if arguments.duration_ns("timeout") and change.mode == "none":
            reached = _Reached(change.invocation, target, arguments.number("replicas"))
            if not change.invocation.wait(reached.check, arguments.duration_ns("timeout")):
                raise plain(f"timed out waiting for {target.name!r} to be synced".replace("'", '"'))
        change.report(target.resource, target.obj, "scaled")


class _Reached:
    """Whether an object has as many replicas as it was asked for."""

    def __init__(self, invocation: Invocation, target: Target, replicas: int) -> None:
        self.invocation = invocation
        self.target = target
        self.replicas = replicas

    def check(self) -> bool:
        obj = self.invocation.named(self.target.path)
        status = obj.get("status") or {}
        observed = status.get("observedGeneration", 0) >= obj["metadata"].get("generation", 0)
        return bool(observed and status.get("replicas", 0) == self.replicas)
