"""Rules of autoscalers. Left out: the selectors of metrics, at which the server does not look.

Source: pkg/apis/autoscaling/validation/validation.go.
"""

from __future__ import annotations

from simcluster.api import names, quantity
from simcluster.api.validation.causes import Causes, Obj

_LONGEST_WINDOW_S, _LONGEST_PERIOD_S = 3600, 1800
_POSITIVE = "must be greater than zero"


def validate_autoscaler(autoscaler: Obj, causes: Causes) -> None:
    """autoscaling/v2 HorizontalPodAutoscaler."""
    spec = autoscaler.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        causes.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        causes.invalid("spec.maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        causes.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    _validate_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", causes)
    for index, metric in enumerate(spec.get("metrics") or ()):
        _validate_metric(metric, f"spec.metrics[{index}]", causes)
    if spec.get("behavior"):
        _validate_behavior(spec["behavior"], "spec.behavior", causes)


_METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")


def _validate_metric(metric: Obj, path: str, causes: Causes) -> None:
    kind = metric.get("type", "")
    if not kind:
        causes.required(f"{path}.type", "must specify a metric source type")
    if kind not in _METRIC_TYPES:
        causes.not_supported(f"{path}.type", kind, _METRIC_TYPES)
    given = [field for field in _SOURCES if metric.get(field) is not None]
    for field in given[:1]:
        _validate_source(field, metric[field], f"{path}.{field}", causes)
    expected = kind[:1].lower() + kind[1:]
    if kind in _METRIC_TYPES and expected not in given:
        causes.required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(given) > 1:
        for field in given:
            if field != expected:
                causes.forbidden(f"{path}.{field}", "must populate the given metric source only")


#: In the order in which the server looks at them.
_SOURCES = ("object", "external", "pods", "resource", "containerResource")


def _validate_source(field: str, body: Obj, path: str, causes: Causes) -> None:
    target, where = body.get("target") or {}, f"{path}.target"
    value, average, used = (target.get(key) for key in ("value", "averageValue", "averageUtilization"))
    if field == "object":
        _validate_reference(body.get("describedObject") or {}, f"{path}.describedObject", causes)
    if field in ("resource", "containerResource"):
        if not body.get("name"):
            causes.required(f"{path}.name", "must specify a resource name")
        if field == "containerResource" and not body.get("container"):
            causes.required(f"{path}.container", "must specify a container")
    elif not (body.get("metric") or {}).get("name"):
        causes.required(f"{path}.metric.name", "must specify a metric name")
    else:
        name = body["metric"]["name"]
        causes.checked(f"{path}.metric.name", name, names.path_segment(name))
    _validate_target(target, where, causes)
    if field == "pods":
        if average is None or quantity.parse(average).nano <= 0:
            causes.required(f"{where}.averageValue", "must specify a positive target averageValue")
    elif field in ("object", "external"):
        if value is None and average is None:
            causes.required(f"{where}.averageValue", "must set either a target value for metric or a per-pod target")
        if field == "external" and value is not None and average is not None:
            causes.forbidden(f"{where}.value", "may not set both a target value for metric and a per-pod target")
    elif used is None and average is None:
        causes.required(f"{where}.averageUtilization", "must set either a target raw value or a target utilization")
    elif used is not None and average is not None:
        causes.forbidden(f"{where}.averageValue", "may not set both a target raw value and a target utilization")


def _validate_target(target: Obj, path: str, causes: Causes) -> None:
    kind = target.get("type", "")
    if not kind:
        causes.required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        causes.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        if target.get(key) is not None and quantity.parse(target[key]).nano <= 0:
            causes.invalid(f"{path}.{key}", target[key], "must be positive")
    used = target.get("averageUtilization")
    if used is not None and used < 1:
        causes.invalid(f"{path}.averageUtilization", used, "must be greater than 0")


def _validate_reference(reference: Obj, path: str, causes: Causes) -> None:
    for key in ("kind", "name"):
        if reference.get(key):
            causes.checked(f"{path}.{key}", reference[key], names.path_segment(reference[key]))
        else:
            causes.required(f"{path}.{key}")


def _validate_behavior(behavior: Obj, path: str, causes: Causes) -> None:
    """The rules for both directions."""
    for direction in ("scaleUp", "scaleDown"):
        rules = behavior.get(direction)
        if rules is not None:
            _validate_rules(rules, f"{path}.{direction}", causes)


def _validate_rules(rules: Obj, path: str, causes: Causes) -> None:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        causes.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW_S:
        why = f"must be less than or equal to {_LONGEST_WINDOW_S}"
        causes.invalid(f"{path}.stabilizationWindowSeconds", window, why)
    select = rules.get("selectPolicy")
    if select is not None:
        causes.one_of(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min"))
    policies = rules.get("policies")
    if policies is not None and not policies:
        causes.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies or ()):
        where = f"{path}.policies[{index}]"
        if policy.get("type") not in ("Percent", "Pods"):
            causes.not_supported(f"{where}.type", policy.get("type", ""), ("Percent", "Pods"))
        if policy.get("value", 0) <= 0:
            causes.invalid(f"{where}.value", policy.get("value", 0), _POSITIVE)
        period = policy.get("periodSeconds", 0)
        if period <= 0:
            causes.invalid(f"{where}.periodSeconds", period, _POSITIVE)
        elif period > _LONGEST_PERIOD_S:
            causes.invalid(f"{where}.periodSeconds", period, f"must be less than or equal to {_LONGEST_PERIOD_S}")
