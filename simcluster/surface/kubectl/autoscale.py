"""`kubectl autoscale`: a HorizontalPodAutoscaler (autoscaling/v1) for what has a scale.

Texts are those of k8s.io/kubectl/pkg/cmd/autoscale/autoscale.go.
"""

from __future__ import annotations

from functools import partial

from simcluster.api.objects import Json
from simcluster.surface.kubectl.apply import with_annotation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    manager("kubectl-autoscale"),
    Flag("cpu-percent", kind="int", default="-1"),
    Flag("max", kind="int", default="-1"),
    Flag("min", kind="int", default="-1"),
    Flag("name"),
    switch("save-config"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl autoscale`."""
    if not arguments.given("max"):
        raise plain('required flag(s) "max" not set')
    least, most = arguments.number("min"), arguments.number("max")
    if most < 1:
        raise plain(f"--max=MAXPODS is required and must be at least 1, max: {most}")
    if most < least:
        raise plain(f"--max=MAXPODS must be larger or equal to --min=MINPODS, max: {most}, min: {least}")
    change = Change(invocation, arguments)
    targets, failures = fetch(invocation, arguments, arguments.positional, latest=False)
    failures.raise_all()
    if not targets:
        raise plain("no objects passed to autoscale")
    failures.each(targets, partial(_autoscale, change))


def _autoscale(change: Change, target: Target) -> None:
    """Make the autoscaler of one object. Raises KubectlError."""
    resource = target.resource
    if "scale" not in resource.subresources:
        what = f"{resource.group}/{resource.version}, Resource={resource.plural}"
        raise plain(
            f"cannot autoscale a {resource.kind}: could not find scale subresource for {what} in discovery information"
        )
    autoscaler = _autoscaler(change.arguments, target)
    if change.arguments.on("save-config"):
        autoscaler = with_annotation(autoscaler)
    path = f"/apis/autoscaling/v1/namespaces/{target.namespace}/horizontalpodautoscalers"
    created = change.create(path, change.recorded(autoscaler))
    made = change.invocation.find("horizontalpodautoscalers.v1.autoscaling")
    change.report(made, created, "created" if change.mode == "client" else "autoscaled")


def _autoscaler(arguments: Arguments, target: Target) -> Json:
    resource = target.resource
    spec: Json = {
        "maxReplicas": arguments.number("max"),
        "scaleTargetRef": {"apiVersion": resource.api_version, "kind": resource.kind, "name": target.name},
    }
    if arguments.number("min") > 0:
        spec["minReplicas"] = arguments.number("min")
    if arguments.number("cpu-percent") >= 0:
        spec["targetCPUUtilizationPercentage"] = arguments.number("cpu-percent")
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"creationTimestamp": None, "name": arguments.text("name") or target.name},
        "spec": spec,
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    }
