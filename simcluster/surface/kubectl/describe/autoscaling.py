"""`kubectl describe` of horizontal pod autoscalers (autoscaling/v2)."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, events_of, rfc1123

_KEYS = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def autoscaler(page: Page, obj: Json) -> None:
    """An autoscaler: its metrics, limits and conditions."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    page.meta(obj)
    page.pair("CreationTimestamp", rfc1123(obj["metadata"].get("creationTimestamp")))
    target = spec["scaleTargetRef"]
    page.pair("Reference", f"{target['kind']}/{target['name']}")
    page.pair("Metrics", "( current / target )")
    current = status.get("currentMetrics") or ()
    for number, metric in enumerate(spec.get("metrics") or ()):
        _metric(page, metric, current[number] if number < len(current) else {})
    page.pair("Min replicas", spec.get("minReplicas", "<unset>"))
    page.pair("Max replicas", spec.get("maxReplicas", 0))
    if spec.get("behavior"):
        page.line("Behavior:")
        _behavior(page, "Scale Up", spec["behavior"].get("scaleUp"))
        _behavior(page, "Scale Down", spec["behavior"].get("scaleDown"))
    page.pair(
        f"{target['kind']} pods",
        f"{status.get('currentReplicas', 0)} current / {status.get('desiredReplicas', 0)} desired",
    )
    _conditions(page, status)
    page.events(events_of(page.invocation, obj))


def _metric(page: Page, metric: Json, current: Json) -> None:
    key = _KEYS.get(metric.get("type", ""))
    if key is None or key not in metric:
        page.line(f'<unknown metric type "{metric.get("type", "")}">', 1)
        return
    source = metric[key]
    target, now = source.get("target") or {}, (current.get(key) or {}).get("current") or {}
    if key in ("resource", "containerResource"):
        of = f' of container "{source["container"]}"' if key == "containerResource" else ""
        _resource(page, f"resource {source['name']}{of} on pods", target, now)
        return
    name = (source.get("metric") or {}).get("name", "")
    average = target.get("averageValue") is not None
    value = "averageValue" if average or key == "pods" else "value"
    title = {
        "pods": f'"{name}" on pods',
        "object": f'"{name}" on {_described(source)} (target {"average " if average else ""}value)',
        "external": f'"{name}" (target {"average " if average else ""}value)',
    }[key]
    page.pair(title, f"{now.get(value, '<unknown>')} / {target.get(value, '')}", 1)


def _described(source: Json) -> str:
    reference = source.get("describedObject") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _resource(page: Page, title: str, target: Json, now: Json) -> None:
    if target.get("averageValue") is not None:
        page.pair(title, f"{now.get('averageValue', '<unknown>')} / {target['averageValue']}", 1)
        return
    used = now.get("averageUtilization")
    shown = "<unknown>" if used is None else f"{used}% ({now.get('averageValue', '0')})"
    wanted = target.get("averageUtilization")
    page.pair(f"{title}  (as a percentage of request)", f"{shown} / {'<auto>' if wanted is None else f'{wanted}%'}", 1)


def _behavior(page: Page, title: str, rules: Json | None) -> None:
    if rules is None:
        return
    page.line(f"{title}:", 1)
    if rules.get("stabilizationWindowSeconds") is not None:
        page.line(f"Stabilization Window: {rules['stabilizationWindowSeconds']} seconds", 2)
    if rules.get("policies"):
        page.line(f"Select Policy: {rules.get('selectPolicy', 'Max')}", 2)
        page.line("Policies:", 2)
        for policy in rules["policies"]:
            period = f"Period: {policy['periodSeconds']} seconds"
            page.line(f"- Type: {policy['type']}\tValue: {policy['value']}\t{period}", 3)


def _conditions(page: Page, status: Json) -> None:
    conditions = status.get("conditions") or ()
    if not conditions:
        return
    page.line("Conditions:")
    rows = [("Type", "Status", "Reason", "Message"), ("----", "------", "------", "-------")]
    rows.extend((c["type"], c["status"], c.get("reason", ""), c.get("message", "")) for c in conditions)
    page.rows(rows)
