"""Rules of `spec.behavior` of autoscalers.

Source: pkg/apis/autoscaling/validation/validation.go.
"""

from __future__ import annotations

from simcluster.api.validation.causes import Causes, Obj

_LONGEST_WINDOW_S, _LONGEST_PERIOD_S = 3600, 1800
_POSITIVE = "must be greater than zero"


def validate_behavior(behavior: Obj, path: str, causes: Causes) -> None:
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
