"""Rules of Jobs: indexes, pod failure policies, success policies; time zones of CronJobs.

Source: pkg/apis/batch/validation/validation.go. Which time zones there are depends on a real
server's machine; here any name within the regions of the tz database is one.
"""

from __future__ import annotations

import re

from simcluster.api import names
from simcluster.api.validation.causes import Causes, GoText, Obj

_NEVER = 'only "Never" is supported when {} is specified'
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")
_MAX_RULES, _MAX_CODES = 20, 255
_REGIONS = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Brazil", "Canada", "Chile", "Etc",
    "Europe", "Indian", "Mexico", "Pacific", "US",
)  # fmt: skip
_ZONES = (
    "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT", "GMT0", "Greenwich",
    "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST", "MST7MDT",
    "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK", "Singapore", "Turkey", "UCT",
    "UTC", "Universal", "W-SU", "WET", "Zulu",
)  # fmt: skip
_PLACE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)?")


def validate_policies(spec: Obj, path: str, causes: Causes) -> None:
    """What a JobSpec says about failed and succeeded pods."""
    indexed = spec.get("completionMode") == "Indexed"
    per_index, failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    causes.not_negative(f"{path}.backoffLimitPerIndex", per_index)
    causes.not_negative(f"{path}.maxFailedIndexes", failed)
    if per_index is not None and not indexed:
        causes.invalid(f"{path}.backoffLimitPerIndex", per_index, "requires indexed completion mode")
    if failed is not None and per_index is None:
        causes.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    policy = spec.get("podFailurePolicy")
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        supported = ("Failed",) if policy is not None else ("Failed", "TerminatingOrFailed")
        causes.one_of(f"{path}.podReplacementPolicy", replacement, supported)
    restart = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    where = f"{path}.template.spec.restartPolicy"
    if policy is not None:
        if restart == "OnFailure":
            causes.invalid(where, restart, _NEVER.format("podFailurePolicy"))
        _validate_failure_policy(policy, spec, f"{path}.podFailurePolicy", causes)
    if per_index is not None and restart == "OnFailure":
        causes.invalid(where, restart, _NEVER.format("backoffLimitPerIndex"))
    if spec.get("successPolicy") is not None:
        if not indexed:
            shown = GoText("batch.SuccessPolicy{Rules:[]batch.SuccessPolicyRule{}}")
            causes.invalid(f"{path}.successPolicy", shown, "requires indexed completion mode")
        _validate_success_policy(spec["successPolicy"], spec, f"{path}.successPolicy.rules", causes)


def _validate_failure_policy(policy: Obj, spec: Obj, path: str, causes: Causes) -> None:
    rules = policy.get("rules") or ()
    if len(rules) > _MAX_RULES:
        causes.too_many(f"{path}.rules", len(rules), _MAX_RULES)
        return
    containers = [
        container.get("name")
        for group in ("containers", "initContainers")
        for container in ((spec.get("template") or {}).get("spec") or {}).get(group) or ()
    ]
    for index, rule in enumerate(rules):
        _validate_rule(rule, spec, containers, f"{path}.rules[{index}]", causes)


def _validate_rule(rule: Obj, spec: Obj, containers: list[str], path: str, causes: Causes) -> None:
    action = rule.get("action", "")
    if not action:
        causes.required(f"{path}.action", f"valid values: {_listed(_ACTIONS)}")
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        causes.invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        causes.not_supported(f"{path}.action", action, _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        _validate_codes(codes, containers, f"{path}.onExitCodes", causes)
    for index, condition in enumerate(conditions):
        where, kind = f"{path}.onPodConditions[{index}].status", condition.get("type", "")
        causes.checked(f"{path}.onPodConditions[{index}].type", kind, names.qualified_name(kind))
        status = condition.get("status", "")
        if not status:
            causes.required(where, f"valid values: {_listed(_STATUSES)}")
        elif status not in _STATUSES:
            causes.not_supported(where, status, _STATUSES)
    if codes is not None and conditions:
        causes.refused(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    elif codes is None and not conditions:
        causes.refused(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _listed(values: tuple[str, ...]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _validate_codes(codes: Obj, containers: list[str], path: str, causes: Causes) -> None:
    operator, values = codes.get("operator", ""), list(codes.get("values") or ())
    if not operator:
        causes.required(f"{path}.operator", f"valid values: {_listed(('In', 'NotIn'))}")
    elif operator not in ("In", "NotIn"):
        causes.not_supported(f"{path}.operator", operator, ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        causes.invalid(f"{path}.containerName", name, why)
    shown = GoText("[]int32{" + ", ".join(str(value) for value in values) + "}")
    if not values:
        causes.invalid(f"{path}.values", shown, "at least one value is required")
    elif len(values) > _MAX_CODES:
        causes.too_many(f"{path}.values", len(values), _MAX_CODES)
    seen: dict[int, None] = {}
    for index, value in enumerate(values):
        where = f"{path}.values[{index}]"
        if value == 0 and operator == "In":
            causes.invalid(where, value, "must not be 0 for the In operator")
        if value in seen:
            causes.duplicate(where, value)
        seen[value] = None
    if values != sorted(values):
        causes.invalid(f"{path}.values", shown, "must be ordered")


def _validate_success_policy(policy: Obj, spec: Obj, path: str, causes: Causes) -> None:
    rules = policy.get("rules") or ()
    if not rules:
        causes.required(path, "at least one rules must be specified when the successPolicy is specified")
    completions = spec.get("completions") or 0
    for index, rule in enumerate(rules):
        where = f"{path}[{index}]"
        count = rule.get("succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            causes.required(where, "at least one of succeededCount or succeededIndexes must be specified")
        if count is not None:
            causes.not_negative(f"{where}.succeededCount", count)
            if count > completions:
                why = f"must be less than or equal to {completions} (the number of specified completions)"
                causes.invalid(f"{where}.succeededCount", count, why)


def validate_time_zone(zone: str | None, path: str, causes: Causes) -> None:
    """`timeZone` of a CronJob."""
    if zone is None:
        return
    if not zone:
        causes.invalid(path, zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        causes.invalid(path, zone, why)
    elif zone not in _ZONES:
        region, _, place = zone.partition("/")
        if region not in _REGIONS or _PLACE.fullmatch(place) is None:
            causes.invalid(path, zone, f"unknown time zone {zone}")
