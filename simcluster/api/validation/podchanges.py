"""The difference between two pod specs, as the server appends it to a refused update.

It is the report of go-cmp (github.com/google/go-cmp) over core.PodSpec: changed fields with
their neighbours, runs of equal fields counted. Scalars of the spec itself are printed
exactly; a changed nested value is printed as the line `... // changed`.
"""

from __future__ import annotations

import json
from typing import Any

#: Fields of core.PodSpec in the order of the Go struct, their wire names, and how Go prints them.
#: Source: pkg/apis/core/types.go (Kubernetes 1.32); `*` marks a pointer, `~` a struct or list.
_FIELDS = (
    ("Volumes", "volumes", "~"),
    ("InitContainers", "initContainers", "~"),
    ("Containers", "containers", "~"),
    ("EphemeralContainers", "ephemeralContainers", "~"),
    ("RestartPolicy", "restartPolicy", ""),
    ("TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", "*"),
    ("ActiveDeadlineSeconds", "activeDeadlineSeconds", "*"),
    ("DNSPolicy", "dnsPolicy", ""),
    ("NodeSelector", "nodeSelector", "~"),
    ("ServiceAccountName", "serviceAccountName", ""),
    ("AutomountServiceAccountToken", "automountServiceAccountToken", "*"),
    ("NodeName", "nodeName", ""),
    ("SecurityContext", "securityContext", "~"),
    ("ImagePullSecrets", "imagePullSecrets", "~"),
    ("Hostname", "hostname", ""),
    ("Subdomain", "subdomain", ""),
    ("SetHostnameAsFQDN", "setHostnameAsFQDN", "*"),
    ("Affinity", "affinity", "~"),
    ("SchedulerName", "schedulerName", ""),
    ("Tolerations", "tolerations", "~"),
    ("HostAliases", "hostAliases", "~"),
    ("PriorityClassName", "priorityClassName", ""),
    ("Priority", "priority", "*"),
    ("PreemptionPolicy", "preemptionPolicy", "*"),
    ("DNSConfig", "dnsConfig", "~"),
    ("ReadinessGates", "readinessGates", "~"),
    ("RuntimeClassName", "runtimeClassName", "*"),
    ("Overhead", "overhead", "~"),
    ("EnableServiceLinks", "enableServiceLinks", "*"),
    ("TopologySpreadConstraints", "topologySpreadConstraints", "~"),
    ("OS", "os", "~"),
    ("SchedulingGates", "schedulingGates", "~"),
    ("ResourceClaims", "resourceClaims", "~"),
    ("Resources", "resources", "~"),
)

#: Equal fields shown around a change.
_CONTEXT = 2


def _print(value: Any, form: str) -> str:
    if form == "~":
        return "nil" if not value else "..."
    if form == "*":
        return "nil" if value is None else f"&{json.dumps(value, ensure_ascii=False)}"
    return json.dumps("" if value is None else value, ensure_ascii=False)


def pod_spec_difference(spec: dict[str, Any], old: dict[str, Any]) -> str:
    """The report, ended by a newline."""
    changed = [spec.get(wire) != old.get(wire) for _, wire, _ in _FIELDS]
    shown = [any(changed[max(0, index - _CONTEXT) : index + _CONTEXT + 1]) for index in range(len(_FIELDS))]
    lines = ["  core.PodSpec{"]
    index = 0
    while index < len(_FIELDS):
        if not shown[index]:
            end = index
            while end < len(_FIELDS) and not shown[end]:
                end += 1
            lines.append(f"  \t... // {end - index} identical fields")
            index = end
            continue
        lines += _group(spec, old, index, shown, changed)
        while index < len(_FIELDS) and shown[index]:
            index += 1
    lines.append("  }")
    return "\n".join(lines) + "\n"


def _group(spec: dict[str, Any], old: dict[str, Any], start: int, shown: list[bool], changed: list[bool]) -> list[str]:
    """Adjacent shown fields, their values aligned as go-cmp aligns them."""
    end = start
    while end < len(_FIELDS) and shown[end]:
        end += 1
    width = max(len(_FIELDS[i][0]) for i in range(start, end)) + 2
    lines = []
    for i in range(start, end):
        name, wire, form = _FIELDS[i]
        head = f"{name}:".ljust(width)
        if not changed[i]:
            lines.append(f"  \t{head}{_print(old.get(wire), form)},")
        elif form == "~":
            lines.append(f"  \t{head}... // changed")
        else:
            lines.append(f"- \t{head}{_print(old.get(wire), form)},")
            lines.append(f"+ \t{head}{_print(spec.get(wire), form)},")
    return lines
