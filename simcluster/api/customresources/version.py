"""One served version of a custom resource: how its objects are read, completed and checked.

Source: k8s.io/apiextensions-apiserver/pkg/{apiserver,registry/customresource}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from simcluster.api.customresources import rules, structural
from simcluster.api.customresources.validation import validate
from simcluster.api.errors import Cause
from simcluster.api.names import dns_subdomain
from simcluster.api.objects import ApiObject, Json
from simcluster.api.schema.decoding import Decoded, decode
from simcluster.api.validation.causes import Causes
from simcluster.api.validation.metadata import validate_metadata, validate_metadata_update
from simcluster.engine import Shared


class Kind(NamedTuple):
    """Group, version and kind, for what only needs these."""

    group: str
    version: str
    kind: str


#: Stands for any kind whose metadata is that of every object.
_PLAIN = Kind("", "v1", "ConfigMap")
#: Failures after which CEL rules are not tried.
_BLOCKING = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_UNCHECKED = Cause(
    "FieldValueInvalid",
    'Invalid value: "null": some validation rules were not checked because the object was invalid; correct the '
    "existing errors to complete validation",
    "<nil>",
)


class Named(Protocol):
    """What is needed of an entry of the table of resources."""

    @property
    def kind(self) -> str:
        """Kind."""

    @property
    def namespaced(self) -> bool:
        """Whether objects live in namespaces."""


class CustomVersion(Shared):
    """What the definition says about one version. Never changed once it is made.

    Attributes:
        definition: the CustomResourceDefinition's name.
        list_kind: kind of a list of objects.
        schema: `openAPIV3Schema`.
        columns: `additionalPrinterColumns`.
        selectable: paths that field selectors may name.
        scale: paths of the scale subresource, or None.
        storage_version: the version in which objects are stored.
        converter: `clientConfig` of the conversion webhook; None if versions differ by name only.
        deprecation: what clients of this version are warned of, or empty.
        is_terminating: whether the definition is being deleted.
    """

    def __init__(self, definition: Mapping[str, Any], version: Mapping[str, Any]) -> None:
        spec = definition["spec"]
        names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
        self.definition: str = definition["metadata"]["name"]
        self.list_kind: str = names.get("listKind") or names["kind"] + "List"
        self.schema: Mapping[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self.columns: tuple[Mapping[str, Any], ...] = tuple(version.get("additionalPrinterColumns") or ())
        fields = version.get("selectableFields") or ()
        self.selectable: tuple[str, ...] = tuple(field["jsonPath"].removeprefix(".") for field in fields)
        subresources = version.get("subresources") or {}
        self.scale: Mapping[str, Any] | None = subresources.get("scale")
        self.storage_version: str = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
        conversion = spec.get("conversion") or {}
        self.converter: Mapping[str, Any] | None = None
        if conversion.get("strategy") == "Webhook":
            self.converter = (conversion.get("webhook") or {}).get("clientConfig") or {}
        self.is_terminating = "deletionTimestamp" in definition["metadata"]
        self.deprecation = ""
        if version.get("deprecated"):
            default = f"{spec['group']}/{version['name']} {names['kind']} is deprecated"
            self.deprecation = version.get("deprecationWarning") or default
        self.keeps_everything = bool(spec.get("preserveUnknownFields"))
        self.has_rules = rules.has_rules(self.schema)

    def decode(self, body: Any) -> Decoded:
        """A body as a private object, and what the schema does not know of it."""
        if not isinstance(body, Mapping):
            return Decoded({}, [], "json: cannot unmarshal array into Go value of type map[string]interface {}")
        unknown: list[str] = []
        if self.keeps_everything:
            out: Json = structural.pruned(body, None, "", unknown)
        else:
            out = structural.pruned(body, self.schema, "", unknown, root=True)
        error = None
        if "metadata" in out:
            read = decode(_PLAIN, {"metadata": out["metadata"]})
            out["metadata"] = read.object.get("metadata", {})
            error = read.error
            unknown = [*unknown, *(text[len('unknown field "') : -1] for text in read.unknown)]
        return Decoded(out, [f'unknown field "{path}"' for path in sorted(unknown)], error)

    def default(self, obj: Json) -> None:
        """Complete a private object."""
        structural.drop_nulls(obj, self.schema)
        structural.fill_defaults(obj, self.schema)

    def refuse_create(self, resource: Named, obj: Json) -> list[Cause]:
        """What is wrong with a new object."""
        causes = Causes()
        validate_metadata(obj.get("metadata") or {}, namespaced=resource.namespaced, rule=dns_subdomain, causes=causes)
        return self._checked(obj, None, causes)

    def refuse_update(self, resource: Named, obj: Json, old: ApiObject) -> list[Cause]:
        """What is wrong with a changed object or status."""
        causes = Causes()
        validate_metadata_update(obj["metadata"], old["metadata"], causes)
        if obj["metadata"].get("labels") != old["metadata"].get("labels"):
            rule = dns_subdomain
            validate_metadata(obj["metadata"], namespaced=resource.namespaced, rule=rule, causes=causes)
        return self._checked(obj, old, causes)

    def _checked(self, obj: Json, old: ApiObject | None, causes: Causes) -> list[Cause]:
        if old is None:
            validate(obj, self.schema, "", causes)
        else:
            validate(obj, self.schema, "", causes, old)
        if self.has_rules:
            if any(cause.reason in _BLOCKING for cause in causes):
                causes.append(_UNCHECKED)
            else:
                rules.check(obj, old, self.schema, causes)
        return causes
