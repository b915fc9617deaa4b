"""Metadata, labels and label selectors.

Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go and pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simcluster.api import names
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj, go_selector

#: Annotations of one object may not take more bytes than this.
MAX_ANNOTATION_BYTES = 256 * 1024

NameRule = Callable[[str], tuple[str, ...]]

_NO_EXTRA = ("In", "NotIn")
_EXISTENCE = ("Exists", "DoesNotExist")


def validate_metadata(metadata: Obj, *, namespaced: bool | None, rule: NameRule, causes: Causes) -> None:
    """Metadata of a new object. `namespaced` None: do not look at the namespace."""
    name, generate = metadata.get("name"), metadata.get("generateName")
    if generate:
        # A prefix may end in what the rule refuses at the end of a name.
        causes.checked("metadata.generateName", generate, rule(_as_prefix(generate)))
    if not name:
        if not generate:
            causes.required("metadata.name", "name or generateName is required")
    else:
        causes.checked("metadata.name", name, rule(name))
    if namespaced is True and not metadata.get("namespace"):
        causes.required("metadata.namespace")
    elif namespaced is False and metadata.get("namespace"):
        causes.forbidden("metadata.namespace", "not allowed on this type")
    _validate_maps(metadata, "metadata", causes)
    validate_owners(metadata.get("ownerReferences") or (), causes)
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        causes.checked(f"metadata.finalizers[{index}]", finalizer, names.qualified_name(finalizer))


def validate_owners(owners: Sequence[Obj], causes: Causes) -> None:
    """References to owners; the field of every problem has no index, as in the real server."""
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                detail = "version must not be empty" if key == "apiVersion" else f"{key} must not be empty"
                causes.invalid(f"{path}.{key}", owner.get(key, ""), detail)
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            causes.invalid(path, GoText(_go_owner(owner)), "/v1, Kind=Event is disallowed from being an owner")
        if not owner.get("controller"):
            continue
        shown = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            why = 'Only one reference can have Controller set to true. Found "true" in references for'
            listed = "[]v1.OwnerReference{" + ", ".join(_go_owner(one) for one in owners) + "}"
            causes.invalid(path, GoText(listed), f"{why} {controller} and {shown}")
        else:
            controller = shown


def _go_owner(owner: Obj) -> str:
    texts = [f'{name}:"{owner.get(key, "")}"' for name, key in _OWNER_TEXTS]
    flags = [f"{name}:{_POINTER if owner.get(key) is not None else '(*bool)(nil)'}" for name, key in _OWNER_FLAGS]
    return "v1.OwnerReference{" + ", ".join([*texts, *flags]) + "}"


_OWNER_TEXTS = (("APIVersion", "apiVersion"), ("Kind", "kind"), ("Name", "name"), ("UID", "uid"))
_OWNER_FLAGS = (("Controller", "controller"), ("BlockOwnerDeletion", "blockOwnerDeletion"))
#: Where Go prints an address of its memory.
_POINTER = "(*bool)(0xc00a1b2c38)"


def _as_prefix(generate: str) -> str:
    return generate[:-1] + "a" if generate.endswith("-") else generate


def _validate_maps(metadata: Obj, path: str, causes: Causes) -> None:
    validate_labels(metadata.get("labels"), f"{path}.labels", causes)
    annotations = metadata.get("annotations")
    if annotations:
        field = f"{path}.annotations"
        total = 0
        for key, value in annotations.items():
            causes.checked(field, key, names.qualified_name(key.lower()))
            total += len(key) + len(value)
        if total > MAX_ANNOTATION_BYTES // 4 and _bytes(annotations) > MAX_ANNOTATION_BYTES:
            causes.too_long(field, MAX_ANNOTATION_BYTES)


def _bytes(annotations: Obj) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())


def validate_template_metadata(metadata: Obj | None, path: str, causes: Causes) -> None:
    """Labels and annotations of a template."""
    if metadata:
        _validate_maps(metadata, path, causes)


def validate_metadata_update(metadata: Obj, old: Obj, causes: Causes) -> None:
    """What of the metadata may not change."""
    for key in ("name", "namespace", "uid"):
        if metadata.get(key) != old.get(key):
            causes.invalid(f"metadata.{key}", metadata.get(key, ""), IMMUTABLE)
    owners = metadata.get("ownerReferences")
    if owners and owners is not old.get("ownerReferences") and owners != old.get("ownerReferences"):
        validate_owners(owners, causes)
    if old.get("deletionTimestamp"):
        before = old.get("finalizers") or ()
        added = [f for f in metadata.get("finalizers") or () if f not in before]
        if added:
            listed = "[]string{" + ", ".join(f'"{f}"' for f in added) + "}"
            causes.forbidden(
                "metadata.finalizers",
                f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}",
            )


def validate_labels(labels: Mapping[str, str] | None, path: str, causes: Causes) -> None:
    """Keys and values of labels; the field of every problem is the whole map."""
    if not labels:
        return
    for key, value in labels.items():
        problems = names.qualified_name(key)
        if problems:
            causes.checked(path, key, problems)
        problems = names.label_value(value)
        if problems:
            causes.checked(path, value, problems)


def validate_selector(selector: Obj | None, path: str, causes: Causes) -> None:
    """A LabelSelector."""
    if not selector:
        return
    validate_labels(selector.get("matchLabels"), f"{path}.matchLabels", causes)
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        validate_requirement(requirement, where, causes)
        causes.checked(f"{where}.key", requirement.get("key", ""), names.qualified_name(requirement.get("key", "")))
        for position, value in enumerate(requirement.get("values") or ()):
            causes.checked(f"{where}.values[{position}]", value, names.label_value(value))


def validate_requirement(requirement: Obj, path: str, causes: Causes) -> None:
    """Operator and values of a selector requirement agree."""
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in _NO_EXTRA:
        if not values:
            causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _EXISTENCE:
        if values:
            causes.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        causes.invalid(f"{path}.operator", operator, "not a valid selector operator")


def is_empty_selector(selector: Obj) -> bool:
    """Whether the selector names nothing."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def validate_selector_update(selector: Obj | None, old: Obj | None, path: str, causes: Causes) -> None:
    """A workload's selector may not change."""
    if (selector or None) != (old or None):
        causes.invalid(path, go_selector(selector) if selector else None, IMMUTABLE)
