"""The HorizontalPodAutoscaler controller.

Looks at every autoscaler each 15 s, the first time 15 s after its creation, and writes the
scale of its target.
Source: kubernetes pkg/controller/podautoscaler/horizontal.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of, thaw
from simcluster.api.selectors import matches, parse_labels
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.horizontalpodautoscaler import limits
from simcluster.control.horizontalpodautoscaler.limits import Bounds, Limited, Sample
from simcluster.control.horizontalpodautoscaler.metrics import FailedMetric, Outcome, Target, compute
from simcluster.control.horizontalpodautoscaler.scales import Scale, get_scale, set_scale
from simcluster.engine import SECOND, Simulation, format_rfc3339

AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
#: --horizontal-pod-autoscaler-sync-period.
SYNC_PERIOD_NS = 15 * SECOND

ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
_STABLE = ("ReadyForNewScale", "recommended size matches current size")


class HorizontalPodAutoscalerController(Controller):
    """Reconciles HorizontalPodAutoscalers.

    Attributes:
        recommendations, ups, downs: by key, what was recommended and done lately; in memory
            only, as in the real controller.
        selectors: by key, the pods each autoscaler looks at.
    """

    name = "horizontal-pod-autoscaler"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recommendations: dict[str, list[Sample]] = {}
        self.ups: dict[str, list[Sample]] = {}
        self.downs: dict[str, list[Sample]] = {}
        self.selectors: dict[str, str] = {}
        self.watch(AUTOSCALERS, self._on_autoscaler)

    def _on_autoscaler(self, change: Change) -> None:
        if change.kind != "DELETED":
            self.queue.add_after(f"{namespace_of(change.object)}/{name_of(change.object)}", SYNC_PERIOD_NS)

    def sync(self, namespace: str, name: str) -> None:
        """Look at one autoscaler, and again in 15 s."""
        key = f"{namespace}/{name}"
        autoscaler = self.client.cache.get(AUTOSCALERS, namespace, name)
        if autoscaler is None:
            for memory in (self.recommendations, self.ups, self.downs, self.selectors):
                memory.pop(key, None)
            return
        Autoscaling(self, key, autoscaler).run()
        self.queue.add_after(key, SYNC_PERIOD_NS)

    def on_error(self, key: str, error: ApiError) -> None:
        """A failed look is repeated at the usual pace."""
        self.queue.add_after(key, SYNC_PERIOD_NS)


class Autoscaling:
    """One look at one autoscaler."""

    def __init__(self, controller: HorizontalPodAutoscalerController, key: str, autoscaler: ApiObject) -> None:
        self.controller = controller
        self.client = controller.client
        self.recorder: EventRecorder = controller.recorder
        self.key = key
        self.autoscaler = autoscaler
        self.namespace = namespace_of(autoscaler)
        self.now_ns = controller.sim.now
        spec = autoscaler["spec"]
        self.bounds = Bounds(int(spec.get("minReplicas", 1)), int(spec["maxReplicas"]))
        self.behavior: Json | None = spec.get("behavior")
        self.before: Json = autoscaler.get("status") or {}
        self.conditions: list[Json] = [dict(entry) for entry in self.before.get("conditions") or ()]
        self.measured: list[Json] | None = None

    def run(self) -> None:
        """Measure, decide, scale and report. Raises ApiError if the status cannot be written."""
        try:
            scale = get_scale(self.client, self.namespace, self.autoscaler["spec"]["scaleTargetRef"])
        except ApiError as error:
            self.recorder.event(self.autoscaler, "Warning", "FailedGetScale", error.message)
            message = f"the HPA controller was unable to get the target's current scale: {error.message}"
            self._condition(ABLE_TO_SCALE, "False", "FailedGetScale", message)
            self._write({**self.before, "conditions": self.conditions})
            return
        message = "the HPA controller was able to get the target's current scale"
        self._condition(ABLE_TO_SCALE, "True", "SucceededGetScale", message)
        current = scale.replicas
        self.controller.recommendations.setdefault(self.key, [Sample(self.now_ns, current)])
        decision = self._decide(scale, current)
        if decision is None:
            return
        desired, why = decision
        if desired != current and not self._rescale(scale, desired, why):
            return
        status = self._status(current, desired)
        if desired != current:
            status["lastScaleTime"] = format_rfc3339(self.now_ns)
        self._write(status)

    def _decide(self, scale: Scale, current: int) -> tuple[int, str] | None:
        """(replicas, reason of a change), or None if the metrics do not allow a decision.

        The reason is empty when only an earlier recommendation calls for the change.
        """
        if current == 0 and self.bounds.least != 0:
            message = "scaling is disabled since the replica count of the target is zero"
            self._condition(SCALING_ACTIVE, "False", "ScalingDisabled", message)
            return 0, ""
        if current > self.bounds.most:
            return self.bounds.most, "Current number of replicas above Spec.MaxReplicas"
        if current < self.bounds.least:
            return self.bounds.least, "Current number of replicas below Spec.MinReplicas"
        proposal = self._propose(scale, current)
        if proposal is None:
            return None
        why = ""
        if proposal.replicas > current:
            why = f"{proposal.name} above target"
        elif proposal.replicas < current:
            why = "All metrics below target"
        return self._normalize(current, proposal.replicas), why

    # Metrics.

    def _propose(self, scale: Scale, current: int) -> Outcome | None:
        """The highest proposal of all metrics; None (and a report) if it is not to be trusted."""
        target = self._target(scale, current)
        if target is None:
            self._report_failure(current, self.conditions[-1]["message"])
            return None
        specs = self.autoscaler["spec"].get("metrics") or ()
        self.measured = [{"type": ""} for _ in specs]
        best: Outcome | None = None
        failures: list[FailedMetric] = []
        for index, metric in enumerate(specs):
            try:
                outcome = compute(self.client, metric, target, self.now_ns)
            except FailedMetric as error:
                self.recorder.event(self.autoscaler, "Warning", error.reason, error.cause)
                failures.append(error)
                continue
            self.measured[index] = outcome.status
            if best is None or outcome.replicas > best.replicas:
                best = outcome
        if best is None or (failures and best.replicas < current):
            message = f"the HPA was unable to compute the replica count: {failures[0].cause}"
            reference = self.autoscaler["spec"]["scaleTargetRef"]
            what = f"{reference['kind']}/{self.namespace}/{reference['name']}"
            counted = f"{len(failures)} invalid out of {len(specs)}"
            self.controller.log.complain(
                "horizontal.go:275",
                f"failed to compute desired number of replicas based on listed metrics for {what}: invalid metrics "
                f"({counted}), first error is: {failures[0].cause}",
            )
            self._condition(SCALING_ACTIVE, "False", failures[0].reason, message)
            count = f"{len(failures)} invalid out of {len(specs)}"
            self._report_failure(current, f"invalid metrics ({count}), first error is: {failures[0].message}")
            return None
        message = f"the HPA was able to successfully calculate a replica count from {best.name}"
        self._condition(SCALING_ACTIVE, "True", "ValidMetricFound", message)
        return best

    def _target(self, scale: Scale, current: int) -> Target | None:
        """The target's pods, or None (and a condition) if it is not clear which they are."""
        if not scale.selector:
            self.recorder.event(self.autoscaler, "Warning", "SelectorRequired", "selector is required")
            message = "the HPA target's scale is missing a selector"
            self._condition(SCALING_ACTIVE, "False", "InvalidSelector", message)
            return None
        self.controller.selectors[self.key] = scale.selector
        wanted = parse_labels(scale.selector)
        pods = [p for p in self.client.cache.objects("pods", self.namespace) if matches(wanted, labels_of(p))]
        rivals = self._rivals(pods)
        if rivals:
            shown = " ".join(sorted([self.key, *rivals]))
            message = f"pods by selector {scale.selector} are controlled by multiple HPAs: [{shown}]"
            self.recorder.event(self.autoscaler, "Warning", "AmbiguousSelector", message)
            self._condition(SCALING_ACTIVE, "False", "AmbiguousSelector", message)
            return None
        return Target(current, self.namespace, scale.selector, pods)

    def _rivals(self, pods: list[ApiObject]) -> list[str]:
        """Other autoscalers that look at the same pods."""
        found = []
        for key, selector in self.controller.selectors.items():
            namespace, _, name = key.partition("/")
            if key == self.key or namespace != self.namespace:
                continue
            if self.client.cache.get(AUTOSCALERS, namespace, name) is None:
                continue
            wanted = parse_labels(selector)
            if any(matches(wanted, labels_of(pod)) for pod in pods):
                found.append(key)
        return found

    def _report_failure(self, current: int, message: str) -> None:
        self._write(self._status(current, int(self.before.get("desiredReplicas") or 0)))
        self.recorder.event(self.autoscaler, "Warning", "FailedComputeMetricsReplicas", message)

    # Limits.

    def _normalize(self, current: int, proposed: int) -> int:
        memory = self.controller
        samples = memory.recommendations[self.key]
        if self.behavior is None:
            stable, memory.recommendations[self.key] = limits.stabilize(samples, proposed, self.now_ns)
            slowed = Limited(stable, "ScaleDownStabilized", limits.SCALED_DOWN_SLOWLY)
            limited = limits.within_default_rules(current, stable, self.bounds)
        else:
            slowed, memory.recommendations[self.key] = limits.stabilize_with_behavior(
                self.behavior, samples, current, proposed, self.now_ns
            )
            ups, downs = memory.ups.get(self.key, []), memory.downs.get(self.key, [])
            limited = limits.within_behavior(
                self.behavior, current, slowed.replicas, self.bounds, ups, downs, self.now_ns
            )
        if slowed.replicas != proposed:
            self._condition(ABLE_TO_SCALE, "True", slowed.reason, slowed.message)
        else:
            self._condition(ABLE_TO_SCALE, "True", *_STABLE)
        is_limited = "False" if limited.replicas == slowed.replicas else "True"
        self._condition(SCALING_LIMITED, is_limited, limited.reason, limited.message)
        return limited.replicas

    # Writing.

    def _rescale(self, scale: Scale, desired: int, why: str) -> bool:
        try:
            set_scale(self.client, self.namespace, scale, desired)
        except ApiError as error:
            text = f"New size: {desired}; reason: {why}; error: {error.message}"
            self.recorder.event(self.autoscaler, "Warning", "FailedRescale", text)
            message = f"the HPA controller was unable to update the target scale: {error.message}"
            self._condition(ABLE_TO_SCALE, "False", "FailedUpdateScale", message)
            self._write(self._status(scale.replicas, int(self.before.get("desiredReplicas") or 0)))
            return False
        message = f"the HPA controller was able to update the target scale to {desired}"
        self._condition(ABLE_TO_SCALE, "True", "SucceededRescale", message)
        self.recorder.event(self.autoscaler, "Normal", "SuccessfulRescale", f"New size: {desired}; reason: {why}")
        if self.behavior is not None:
            self._remember(scale.replicas, desired, self.behavior)
        return True

    def _remember(self, before: int, after: int, behavior: Json) -> None:
        up = after > before
        changes = self.controller.ups if up else self.controller.downs
        rules = behavior.get("scaleUp" if up else "scaleDown") or {}
        changes[self.key] = limits.record_change(changes.get(self.key, []), rules, abs(after - before), self.now_ns)

    def _status(self, current: int, desired: int) -> Json:
        status: Json = {}
        if self.before.get("lastScaleTime"):
            status["lastScaleTime"] = self.before["lastScaleTime"]
        if current:
            status["currentReplicas"] = current
        status["desiredReplicas"] = desired
        status["currentMetrics"] = self.measured
        status["conditions"] = self.conditions
        return status

    def _condition(self, kind: str, status: str, reason: str, message: str) -> None:
        for entry in self.conditions:
            if entry.get("type") == kind:
                if entry.get("status") != status:
                    entry["lastTransitionTime"] = format_rfc3339(self.now_ns)
                entry.update({"status": status, "reason": reason, "message": message})
                return
        now = format_rfc3339(self.now_ns)
        self.conditions.append(
            {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
        )

    def _write(self, status: Json) -> None:
        if status != self.before:
            self.client.update_status(AUTOSCALERS, {**thaw(self.autoscaler), "status": status})
