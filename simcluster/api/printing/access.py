"""Rows of access, scheduling-class, admission and API-extension kinds.

Source: pkg/printers/internalversion/printers.go; kube-aggregator's own for APIServices.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.printing.cells import NAME, UNSET, Column, Obj, Printer, age, columns


def created_at(obj: Obj, now_ns: int) -> list[Any]:
    """Name and creation time: kinds without a printer of their own."""
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]


def name_and_age(obj: Obj, now_ns: int) -> list[Any]:
    """Name and age: custom resources without columns of their own."""
    return [obj["metadata"]["name"], age(obj, now_ns)]


def _binding(binding: Obj, now_ns: int) -> list[Any]:
    users: list[str] = []
    groups: list[str] = []
    accounts: list[str] = []
    for subject in binding.get("subjects") or ():
        if subject["kind"] == "ServiceAccount":
            accounts.append(f"{subject.get('namespace', '')}/{subject['name']}")
        else:
            (users if subject["kind"] == "User" else groups).append(subject["name"])
    role = binding["roleRef"]
    return [
        binding["metadata"]["name"],
        f"{role['kind']}/{role['name']}",
        age(binding, now_ns),
        ", ".join(users),
        ", ".join(groups),
        ", ".join(accounts),
    ]


def _component_status(obj: Obj, now_ns: int) -> list[Any]:
    status, message, error = "Unknown", "", ""
    for entry in obj.get("conditions") or ():
        if entry["type"] == "Healthy":
            status = "Healthy" if entry["status"] == "True" else "Unhealthy"
            message, error = entry.get("message", ""), entry.get("error", "")
            break
    return [obj["metadata"]["name"], status, message, error]


def _priority_class(obj: Obj, now_ns: int) -> list[Any]:
    return [
        obj["metadata"]["name"],
        obj.get("value", 0),
        bool(obj.get("globalDefault", False)),
        age(obj, now_ns),
        obj.get("preemptionPolicy", "PreemptLowerPriority"),
    ]


def _runtime_class(obj: Obj, now_ns: int) -> list[Any]:
    return [obj["metadata"]["name"], obj.get("handler", ""), age(obj, now_ns)]


def _webhooks(obj: Obj, now_ns: int) -> list[Any]:
    return [obj["metadata"]["name"], len(obj.get("webhooks") or ()), age(obj, now_ns)]


def _policy(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj.get("spec") or {}
    parameters = spec.get("paramKind")
    kind = f"{parameters.get('apiVersion', '')}/{parameters.get('kind', '')}" if parameters else UNSET
    return [obj["metadata"]["name"], len(spec.get("validations") or ()), kind, age(obj, now_ns)]


def _policy_binding(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj.get("spec") or {}
    reference = spec.get("paramRef")
    text = UNSET
    if reference:
        text = (
            f"{reference['namespace']}/{reference.get('name', '*')}"
            if reference.get("namespace")
            else reference.get("name", "*")
        )
    return [obj["metadata"]["name"], spec.get("policyName", ""), text, age(obj, now_ns)]


def _api_service(obj: Obj, now_ns: int) -> list[Any]:
    service = (obj.get("spec") or {}).get("service")
    available = "Unknown"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Available":
            available = condition["status"]
            if available != "True":
                available = f"{available} ({condition.get('reason', '')})"
    reference = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    return [obj["metadata"]["name"], reference, available, age(obj, now_ns)]


def _signing_request(obj: Obj, now_ns: int) -> list[Any]:
    spec = obj.get("spec") or {}
    words = [c["type"] for c in (obj.get("status") or {}).get("conditions") or () if c.get("status", "True") == "True"]
    if (obj.get("status") or {}).get("certificate"):
        words.append("Issued")
    seconds = spec.get("expirationSeconds")
    return [
        obj["metadata"]["name"],
        age(obj, now_ns),
        spec.get("signerName", ""),
        spec.get("username", ""),
        "<none>" if seconds is None else f"{seconds}s",
        ",".join(words) or "Pending",
    ]


DEFAULT = Printer((NAME, Column("Created At", "date")), created_at)
CUSTOM = Printer((NAME, Column("Age", "date")), name_and_age)
BINDING = Printer(columns("Role", "Age", wide=("Users", "Groups", "ServiceAccounts")), _binding)
COMPONENT_STATUS = Printer(columns("Status", "Message", "Error"), _component_status)
PRIORITY_CLASS = Printer(columns("Value", "Global-Default", "Age", "PreemptionPolicy"), _priority_class)
RUNTIME_CLASS = Printer(columns("Handler", "Age"), _runtime_class)
WEBHOOKS = Printer(columns("Webhooks:integer", "Age"), _webhooks)
ADMISSION_POLICY = Printer(columns("Validations:integer", "ParamKind", "Age"), _policy)
ADMISSION_BINDING = Printer(columns("PolicyName", "ParamRef", "Age"), _policy_binding)
API_SERVICE = Printer(columns("Service", "Available", "Age"), _api_service)
SIGNING_REQUEST = Printer(columns("Age", "SignerName", "Requestor", "RequestedDuration", "Condition"), _signing_request)
