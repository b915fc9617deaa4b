"""A pod template as Go prints it (`%#v`), for errors that quote the whole value.

Source: pkg/apis/core/types.go (Kubernetes 1.32): fields in the order of the structs. What lies
behind a pointer is printed as an address; here every address is made of the field's name, so
that equal objects give equal texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from simcluster.api import quantity

#: Fields of a struct: Go name, wire name, form. Forms: `s` string, `i` integer, `b` bool,
#: `*T` pointer, `[T` list, `m` map of strings, `r` resources, `{T` struct within.
_Fields = tuple[tuple[str, str, str], ...]


def _fields(text: str) -> _Fields:
    """`Name s, Image:image s`: the wire name is the Go name with a small first letter unless it is given."""
    found = []
    for entry in text.split(", "):
        names, form = entry.split(" ", 1)
        name, _, wire = names.partition(":")
        found.append((name, wire or name[0].lower() + name[1:], form))
    return tuple(found)


_VOLUME_SOURCES = (
    "HostPath EmptyDir GCEPersistentDisk:gcePersistentDisk AWSElasticBlockStore:awsElasticBlockStore GitRepo Secret "
    "NFS:nfs ISCSI:iscsi Glusterfs PersistentVolumeClaim RBD:rbd Quobyte FlexVolume Cinder CephFS:cephfs Flocker "
    "DownwardAPI FC:fc AzureFile ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume "
    "ScaleIO StorageOS:storageos CSI:csi Ephemeral Image"
)


def _source_type(name: str) -> str:
    """The type of a volume's source."""
    if name == "VsphereVolume":
        return "VsphereVirtualDiskVolumeSource"
    return f"{name}Source" if name.endswith("Volume") else f"{name}VolumeSource"


_STRUCTS: dict[str, _Fields] = {
    "core.Container": _fields(
        "Name s, Image s, Command [string, Args [string, WorkingDir s, Ports [core.ContainerPort, "
        "EnvFrom [core.EnvFromSource, Env [core.EnvVar, Resources {core.ResourceRequirements, "
        "ResizePolicy [core.ContainerResizePolicy, RestartPolicy *core.ContainerRestartPolicy, "
        "VolumeMounts [core.VolumeMount, VolumeDevices [core.VolumeDevice, LivenessProbe *core.Probe, "
        "ReadinessProbe *core.Probe, StartupProbe *core.Probe, Lifecycle *core.Lifecycle, TerminationMessagePath s, "
        "TerminationMessagePolicy s, ImagePullPolicy s, SecurityContext *core.SecurityContext, Stdin b, StdinOnce b, "
        "TTY:tty b"
    ),
    "core.ContainerPort": _fields("Name s, HostPort i, ContainerPort i, Protocol s, HostIP s"),
    "core.ContainerResizePolicy": _fields("ResourceName s, RestartPolicy s"),
    "core.EnvFromSource": _fields("Prefix s, ConfigMapRef *core.ConfigMapEnvSource, SecretRef *core.SecretEnvSource"),
    "core.EnvVar": _fields("Name s, Value s, ValueFrom *core.EnvVarSource"),
    "core.HostAlias": _fields("IP:ip s, Hostnames [string"),
    "core.LocalObjectReference": _fields("Name s"),
    "core.PodReadinessGate": _fields("ConditionType s"),
    "core.PodResourceClaim": _fields("Name s, ResourceClaimName *string, ResourceClaimTemplateName *string"),
    "core.PodSchedulingGate": _fields("Name s"),
    "core.PodSpec": _fields(
        "Volumes [core.Volume, InitContainers [core.Container, Containers [core.Container, "
        "EphemeralContainers [core.EphemeralContainer, RestartPolicy s, TerminationGracePeriodSeconds *int64, "
        "ActiveDeadlineSeconds *int64, DNSPolicy:dnsPolicy s, NodeSelector m, ServiceAccountName s, "
        "AutomountServiceAccountToken *bool, NodeName s, SecurityContext *core.PodSecurityContext, "
        "ImagePullSecrets [core.LocalObjectReference, Hostname s, Subdomain s, SetHostnameAsFQDN *bool, "
        "Affinity *core.Affinity, SchedulerName s, Tolerations [core.Toleration, HostAliases [core.HostAlias, "
        "PriorityClassName s, Priority *int32, PreemptionPolicy *core.PreemptionPolicy, "
        "DNSConfig:dnsConfig *core.PodDNSConfig, ReadinessGates [core.PodReadinessGate, RuntimeClassName *string, "
        "Overhead r, EnableServiceLinks *bool, TopologySpreadConstraints [core.TopologySpreadConstraint, "
        "OS:os *core.PodOS, SchedulingGates [core.PodSchedulingGate, ResourceClaims [core.PodResourceClaim, "
        "Resources *core.ResourceRequirements"
    ),
    "core.ResourceClaim": _fields("Name s, Request s"),
    "core.ResourceRequirements": _fields("Limits r, Requests r, Claims [core.ResourceClaim"),
    "core.Toleration": _fields("Key s, Operator s, Value s, Effect s, TolerationSeconds *int64"),
    "core.TopologySpreadConstraint": _fields(
        "MaxSkew i, TopologyKey s, WhenUnsatisfiable s, LabelSelector *v1.LabelSelector, MinDomains *int32, "
        "NodeAffinityPolicy *core.NodeInclusionPolicy, NodeTaintsPolicy *core.NodeInclusionPolicy, "
        "MatchLabelKeys [string"
    ),
    "core.Volume": _fields("Name s, VolumeSource {core.VolumeSource"),
    "core.VolumeDevice": _fields("Name s, DevicePath s"),
    "core.VolumeMount": _fields(
        "Name s, ReadOnly b, RecursiveReadOnly *core.RecursiveReadOnlyMode, MountPath s, SubPath s, "
        "MountPropagation *core.MountPropagationMode, SubPathExpr s"
    ),
    "core.VolumeSource": tuple(
        (name, wire or name[0].lower() + name[1:], f"*core.{_source_type(name)}")
        for name, _, wire in (word.partition(":") for word in _VOLUME_SOURCES.split())
    ),
    "v1.ObjectMeta": _fields(
        "Name s, GenerateName s, Namespace s, SelfLink s, UID:uid s, ResourceVersion s, Generation i, "
        "CreationTimestamp t, DeletionTimestamp d, DeletionGracePeriodSeconds *int64, Labels m, Annotations m, "
        "OwnerReferences [v1.OwnerReference, Finalizers [string, ManagedFields [v1.ManagedFieldsEntry"
    ),
}


def template_text(template: dict[str, Any]) -> str:
    """`core.PodTemplateSpec{...}` of a template."""
    metadata = _struct("v1.ObjectMeta", template.get("metadata") or {}, "metadata")
    spec = _struct("core.PodSpec", template.get("spec") or {}, "spec")
    return f"core.PodTemplateSpec{{ObjectMeta:{metadata}, Spec:{spec}}}"


def _struct(kind: str, value: dict[str, Any], path: str) -> str:
    shown = ", ".join(f"{name}:{_value(form, wire, value, path)}" for name, wire, form in _STRUCTS.get(kind, ()))
    return f"{kind}{{{shown}}}"


def _value(form: str, wire: str, owner: dict[str, Any], path: str) -> str:
    value, mark, kind = owner.get(wire), form[0], form[1:]
    where = f"{path}.{wire}"
    if mark == "*":
        return f"(*{kind})(nil)" if value is None else f"(*{kind})({_address(where, value)})"
    if mark == "[":
        return _list(kind, value, where)
    if mark == "{":  # a volume's source lies in the volume itself
        return _struct(kind, owner if kind == "core.VolumeSource" else value or {}, where)
    return _PLAIN[mark](value)


def _list(kind: str, value: list[Any] | None, path: str) -> str:
    if not value:
        return f"[]{kind}(nil)"
    if kind == "string":
        return "[]string{" + ", ".join(_text(item) for item in value) + "}"
    items = ", ".join(_struct(kind, item, f"{path}[{index}]") for index, item in enumerate(value))
    return f"[]{kind}{{{items}}}"


def _address(path: str, value: Any) -> str:
    digest = hashlib.sha256(f"{path} {json.dumps(value, sort_keys=True)}".encode()).hexdigest()
    return f"0xc00{digest[:6]}8"


def _text(value: Any) -> str:
    return json.dumps(value or "", ensure_ascii=False)


def _integer(value: Any) -> str:
    return str(value or 0)


def _boolean(value: Any) -> str:
    return "true" if value else "false"


def _map(value: dict[str, str] | None) -> str:
    if not value:
        return "map[string]string(nil)"
    return "map[string]string{" + ", ".join(f"{_text(key)}:{_text(value[key])}" for key in sorted(value)) + "}"


def _resources(value: dict[str, Any] | None) -> str:
    if not value:
        return "core.ResourceList(nil)"
    return "core.ResourceList{" + ", ".join(f"{_text(key)}:{_quantity(value[key])}" for key in sorted(value)) + "}"


def _quantity(text: Any) -> str:
    amount = quantity.parse(text)
    number, scale = amount.nano, -9
    while scale < 0 and number % 1000 == 0:
        number, scale = number // 1000, scale + 3
    cached = "" if amount.format == "BinarySI" else str(text)
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{number}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{cached}", Format:"{amount.format}"}}'
    )


def _moment(value: Any) -> str:
    return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"


def _no_moment(value: Any) -> str:
    return "<nil>"


_PLAIN: dict[str, Callable[[Any], str]] = {
    "s": _text,
    "i": _integer,
    "b": _boolean,
    "m": _map,
    "r": _resources,
    "t": _moment,
    "d": _no_moment,
}
