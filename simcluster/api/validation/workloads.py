"""Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, budgets.

Source: pkg/apis/{apps,batch,core,policy}/validation.
"""

from __future__ import annotations

import re
from typing import Any

from simcluster.api import names
from simcluster.api.selectors import matches, of_label_selector
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj, go_int_or_string, go_map, go_selector
from simcluster.api.validation.godump import template_text
from simcluster.api.validation.jobpolicies import validate_policies, validate_time_zone
from simcluster.api.validation.metadata import (
    is_empty_selector,
    validate_selector,
    validate_selector_update,
    validate_template_metadata,
)
from simcluster.api.validation.pods import validate_template

_MISMATCH = "`selector` does not match template `labels`"


def _validate_selected_template(spec: Obj, kind: str, causes: Causes, *, empty_text: str) -> None:
    """Selector, template, and that one selects the other; the restart policy is Always."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        causes.required("spec.selector")
    else:
        validate_selector(selector, "spec.selector", causes)
        if is_empty_selector(selector):
            causes.invalid("spec.selector", go_selector(selector), empty_text)
    labels = (template.get("metadata") or {}).get("labels")
    # No selector at all matches nothing; an empty one matches everything.
    if selector is None or not matches(of_label_selector(selector), labels or {}):
        causes.invalid("spec.template.metadata.labels", GoText(go_map(labels)), _MISMATCH)
    if kind == "StatefulSet":
        # Its volumes may come from claim templates: the server leaves the PodSpec to the pods' own validation.
        validate_template_metadata(template.get("metadata"), "spec.template.metadata", causes)
    else:
        validate_template(template, "spec.template", causes)
    _validate_always(template, kind, causes)


def _validate_always(template: Obj, kind: str, causes: Causes) -> None:
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy")
    if policy != "Always":
        causes.not_supported("spec.template.spec.restartPolicy", policy or "", ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        causes.forbidden("spec.template.spec.activeDeadlineSeconds", detail)


def validate_deployment(deployment: Obj, causes: Causes) -> None:
    """apps/v1 Deployment."""
    spec = deployment.get("spec") or {}
    causes.not_negative("spec.replicas", spec.get("replicas"))
    _validate_selected_template(spec, "ReplicaSet", causes, empty_text="empty selector is invalid for deployment")
    _validate_strategy(spec.get("strategy") or {}, causes)
    causes.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    causes.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        causes.not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= spec.get("minReadySeconds", 0):
            causes.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _validate_strategy(strategy: Obj, causes: Causes) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            causes.forbidden("spec.strategy.rollingUpdate", detail)
    elif kind == "RollingUpdate":
        if rolling is None:
            causes.required("spec.strategy.rollingUpdate", "this should be defaulted and never be nil")
        else:
            _validate_rolling(rolling, "spec.strategy.rollingUpdate", causes)
    else:
        causes.not_supported("spec.strategy.type", kind, ("Recreate", "RollingUpdate"))


def _validate_rolling(rolling: Obj, path: str, causes: Causes) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    validate_count_or_percent(unavailable, f"{path}.maxUnavailable", causes)
    validate_count_or_percent(surge, f"{path}.maxSurge", causes)
    if _amount(unavailable) == 0 and _amount(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        causes.invalid(f"{path}.maxUnavailable", go_int_or_string(unavailable), detail)
    _validate_at_most_all(unavailable, f"{path}.maxUnavailable", causes)


def validate_count_or_percent(value: int | str, path: str, causes: Causes) -> None:
    """A count of 0 or more, or a percentage."""
    if isinstance(value, str):
        causes.checked(path, go_int_or_string(value), names.percent(value))
    else:
        causes.not_negative(path, value)


def _validate_at_most_all(value: int | str, path: str, causes: Causes) -> None:
    if isinstance(value, str) and _amount(value) > 100:
        causes.invalid(path, go_int_or_string(value), "must not be greater than 100%")


def _amount(value: int | str) -> int:
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    return int(digits) if digits.isdecimal() else 0


def validate_deployment_update(deployment: Obj, old: Obj, causes: Causes) -> None:
    """apps/v1 Deployment after a write."""
    validate_deployment(deployment, causes)
    validate_selector_update(deployment["spec"].get("selector"), old["spec"].get("selector"), "spec.selector", causes)


def validate_replicaset(replicaset: Obj, causes: Causes) -> None:
    """apps/v1 ReplicaSet."""
    spec = replicaset.get("spec") or {}
    causes.not_negative("spec.replicas", spec.get("replicas"))
    causes.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    _validate_selected_template(spec, "ReplicaSet", causes, empty_text="empty selector is invalid for deployment")


def validate_replicaset_update(replicaset: Obj, old: Obj, causes: Causes) -> None:
    """apps/v1 ReplicaSet after a write."""
    validate_replicaset(replicaset, causes)
    validate_selector_update(replicaset["spec"].get("selector"), old["spec"].get("selector"), "spec.selector", causes)


def validate_replication_controller(controller: Obj, causes: Causes) -> None:
    """core/v1 ReplicationController."""
    spec = controller.get("spec") or {}
    selector, template = spec.get("selector"), spec.get("template")
    causes.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if not selector:
        causes.required("spec.selector")
    causes.not_negative("spec.replicas", spec.get("replicas"))
    if template is None:
        causes.required("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels")
    if selector and not matches(of_label_selector({"matchLabels": selector}), labels or {}):
        causes.invalid("spec.template.metadata.labels", GoText(go_map(labels)), _MISMATCH)
    validate_template(template, "spec.template", causes)
    _validate_always(template, "ReplicationController", causes)


def validate_revision(revision: Obj, causes: Causes) -> None:
    """apps/v1 ControllerRevision."""
    if revision.get("data") is None:
        causes.required("data", "data is mandatory")
    causes.not_negative("revision", revision.get("revision"))


def validate_revision_update(revision: Obj, old: Obj, causes: Causes) -> None:
    """apps/v1 ControllerRevision after a write: its data stay."""
    validate_revision(revision, causes)
    if revision.get("data") != old.get("data"):
        causes.invalid("data", None, IMMUTABLE)


def validate_statefulset(statefulset: Obj, causes: Causes) -> None:
    """apps/v1 StatefulSet."""
    spec = statefulset.get("spec") or {}
    causes.one_of("spec.podManagementPolicy", spec.get("podManagementPolicy"), ("OrderedReady", "Parallel"))
    strategy = spec.get("updateStrategy") or {}
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            causes.invalid("spec.updateStrategy.rollingUpdate", None, detail)
    elif kind == "RollingUpdate":
        causes.not_negative("spec.updateStrategy.rollingUpdate.partition", (rolling or {}).get("partition"))
    else:
        causes.invalid("spec.updateStrategy", kind, "must be 'RollingUpdate' or 'OnDelete'")
    causes.not_negative("spec.replicas", spec.get("replicas"))
    causes.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    _validate_selected_template(spec, "StatefulSet", causes, empty_text="empty selector is invalid for statefulset")


_STATEFULSET_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def validate_statefulset_update(statefulset: Obj, old: Obj, causes: Causes) -> None:
    """apps/v1 StatefulSet after a write."""
    validate_statefulset(statefulset, causes)
    if _without(statefulset["spec"], _STATEFULSET_MUTABLE) != _without(old["spec"], _STATEFULSET_MUTABLE):
        causes.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def _without(spec: Obj, keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in keys}


def validate_daemonset(daemonset: Obj, causes: Causes) -> None:
    """apps/v1 DaemonSet."""
    spec = daemonset.get("spec") or {}
    _validate_selected_template(spec, "DaemonSet", causes, empty_text="empty selector is invalid for daemonset")
    causes.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    strategy = spec.get("updateStrategy") or {}
    kind, path = strategy.get("type", ""), "spec.updateStrategy.rollingUpdate"
    if kind == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        if rolling is None:
            causes.required(path)
        else:
            unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
            validate_count_or_percent(unavailable, f"{path}.maxUnavailable", causes)
            validate_count_or_percent(surge, f"{path}.maxSurge", causes)
            if _amount(unavailable) == 0 and _amount(surge) == 0:
                causes.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
            elif _amount(unavailable) and _amount(surge):
                detail = "may not be set when maxUnavailable is non-zero"
                causes.invalid(f"{path}.maxSurge", go_int_or_string(surge), detail)
    elif kind != "OnDelete":
        causes.not_supported("spec.updateStrategy.type", kind, ("OnDelete", "RollingUpdate"))
    causes.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def validate_daemonset_update(daemonset: Obj, old: Obj, causes: Causes) -> None:
    """apps/v1 DaemonSet after a write."""
    validate_daemonset(daemonset, causes)
    validate_selector_update(daemonset["spec"].get("selector"), old["spec"].get("selector"), "spec.selector", causes)


def validate_job(job: Obj, causes: Causes) -> None:
    """batch/v1 Job."""
    _validate_job_spec(job.get("spec") or {}, "spec", causes)
    spec = job.get("spec") or {}
    selector = spec.get("selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is not None:
        validate_selector(selector, "spec.selector", causes)
        if not matches(of_label_selector(selector), labels or {}):
            causes.invalid("spec.template.metadata.labels", GoText(go_map(labels)), _MISMATCH)


def _validate_job_spec(spec: Obj, path: str, causes: Causes) -> None:
    for key in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        causes.not_negative(f"{path}.{key}", spec.get(key))
    mode = spec.get("completionMode")
    if mode is not None:
        causes.one_of(f"{path}.completionMode", mode, ("Indexed", "NonIndexed"))
        if mode == "Indexed" and spec.get("completions") is None:
            causes.required(f"{path}.completions", "when completion mode is Indexed")
    validate_policies(spec, path, causes)
    template = spec.get("template") or {}
    validate_template(template, f"{path}.template", causes)
    policy = (template.get("spec") or {}).get("restartPolicy")
    where = f"{path}.template.spec.restartPolicy"
    if policy in ("", None, "Always"):
        causes.required(where, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        causes.not_supported(where, policy, ("OnFailure", "Never"))


def validate_job_update(job: Obj, old: Obj, causes: Causes) -> None:
    """batch/v1 Job after a write."""
    validate_job(job, causes)
    spec, before = job["spec"], old["spec"]
    if spec.get("completions") != before.get("completions") and spec.get("completionMode") != "Indexed":
        causes.invalid("spec.completions", spec.get("completions"), IMMUTABLE)
    validate_selector_update(spec.get("selector"), before.get("selector"), "spec.selector", causes)
    suspended = before.get("suspend") and not (old.get("status") or {}).get("startTime")
    if spec.get("template") != before.get("template") and not suspended:
        causes.invalid("spec.template", GoText(template_text(spec.get("template") or {})), IMMUTABLE)
    for key in ("completionMode", "backoffLimitPerIndex", "podFailurePolicy", "successPolicy"):
        if spec.get(key) != before.get(key):
            causes.invalid(f"spec.{key}", spec.get(key) if isinstance(spec.get(key), str) else None, IMMUTABLE)


#: Longest name of a CronJob: its Jobs get 11 characters more.
_MAX_CRONJOB_NAME = 52

_ZONE_PREFIX = re.compile(r"^(CRON_)?TZ=\S+ ")
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def validate_cronjob(cronjob: Obj, causes: Causes) -> None:
    """batch/v1 CronJob."""
    spec = cronjob.get("spec") or {}
    schedule = spec.get("schedule", "")
    if not schedule:
        causes.required("spec.schedule")
    else:
        problem = schedule_problem(_ZONE_PREFIX.sub("", schedule))
        if problem:
            causes.invalid("spec.schedule", schedule, problem)
        if "TZ" in schedule:
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            causes.invalid("spec.schedule", schedule, why)
    validate_time_zone(spec.get("timeZone"), "spec.timeZone", causes)
    causes.not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    causes.one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"))
    causes.not_negative("spec.successfulJobsHistoryLimit", spec.get("successfulJobsHistoryLimit"))
    causes.not_negative("spec.failedJobsHistoryLimit", spec.get("failedJobsHistoryLimit"))
    _validate_job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec", causes)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    if job.get("selector") is not None:
        causes.invalid(
            "spec.jobTemplate.spec.selector", go_selector(job["selector"]), "`selector` will be auto-generated"
        )
    if job.get("manualSelector"):
        causes.not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    name = cronjob["metadata"].get("name", "")
    if len(name) > _MAX_CRONJOB_NAME:
        causes.invalid("metadata.name", name, "must be no more than 52 characters")


_CRON_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 6))
_CRON_NAMES = {
    name: number
    for names_, first in (
        (("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1),
        (("sun", "mon", "tue", "wed", "thu", "fri", "sat"), 0),
    )
    for number, name in enumerate(names_, first)
}
_CRON_PART = re.compile(r"(\*|\?|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?)(?:/(\d+))?")


def schedule_problem(schedule: str) -> str:
    """What is wrong with a cron schedule, empty if nothing. Source: robfig/cron v3, ParseStandard."""
    if schedule.startswith("@"):
        known = schedule in _MACROS or schedule.startswith("@every ")
        return "" if known else f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, (_, low, high) in zip(fields, _CRON_FIELDS, strict=True):
        for part in field.split(","):
            problem = _cron_part_problem(part, low, high)
            if problem:
                return problem
    return ""


def _cron_part_problem(part: str, low: int, high: int) -> str:
    match = _CRON_PART.fullmatch(part)
    if match is None:
        return f"failed to parse int from {part}: strconv.Atoi: parsing {_quote(part)}: invalid syntax"
    if match[1] in ("*", "?"):
        return ""
    bounds = []
    for text in match[1].split("-"):
        number = int(text) if text.isdecimal() else _CRON_NAMES.get(text.lower(), -1)
        if number < 0:
            return f"failed to parse int from {text}: strconv.Atoi: parsing {_quote(text)}: invalid syntax"
        bounds.append(number)
    if bounds[0] < low:
        return f"beginning of range ({bounds[0]}) below minimum ({low}): {part}"
    if bounds[-1] > high:
        return f"end of range ({bounds[-1]}) above maximum ({high}): {part}"
    if bounds[0] > bounds[-1]:
        return f"beginning of range ({bounds[0]}) beyond end of range ({bounds[-1]}): {part}"
    return ""


def _quote(text: str) -> str:
    return f'"{text}"'


def validate_budget(budget: Obj, causes: Causes) -> None:
    """policy/v1 PodDisruptionBudget."""
    spec = budget.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        count = "(*intstr.IntOrString)(0xc008a3e1a0)"
        chosen = "(*v1.LabelSelector)" + ("(nil)" if spec.get("selector") is None else "(0xc008a3e1c0)")
        eviction = "(*policy.UnhealthyPodEvictionPolicyType)(nil)"
        shown = (
            f"policy.PodDisruptionBudgetSpec{{MinAvailable:{count}, Selector:{chosen}, MaxUnavailable:{count}, "
            f"UnhealthyPodEvictionPolicy:{eviction}}}"
        )
        causes.invalid("spec", GoText(shown), "minAvailable and maxUnavailable cannot be both set")
    for key, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            validate_count_or_percent(value, f"spec.{key}", causes)
            _validate_at_most_all(value, f"spec.{key}", causes)
    validate_selector(spec.get("selector"), "spec.selector", causes)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        causes.one_of("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))
