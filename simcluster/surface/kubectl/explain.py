"""`kubectl explain`: the documentation of a kind or of one of its fields.

Reads the OpenAPI v3 document of the kind's group and version, as kubectl does, and prints
it in the layout of k8s.io/kubectl/pkg/explain/v2 (the template `plaintext`). Output in other
templates is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.resources import Resource
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.wordwrap import wrap

FLAGS = (Flag("api-version"), switch("recursive"), Flag("output", default="plaintext"))

_KIND = "x-kubernetes-group-version-kind"
_FORMATS = ("plaintext", "plaintext-openapiv2")
#: How many values of an enumeration a list of fields shows.
_ENUM_LIMIT = 4


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl explain`."""
    words = arguments.positional
    if not words:
        raise plain(
            'You must specify the type of resource to explain. Use "kubectl api-resources" for a complete list of '
            "supported resources."
        )
    if len(words) > 1:
        raise plain("We accept only this format: explain RESOURCE\n")
    form = arguments.text("output")
    if form not in _FORMATS:
        raise plain(f"unrecognized format: {form}")
    resource, path = _resource(invocation, words[0])
    group, version = resource.group, resource.version
    wanted = arguments.text("api-version")
    if wanted:
        group, _, version = wanted.rpartition("/")
    document = _document(invocation, group, version, resource)
    kind = _kind_of(document, group, version, resource)
    if kind is None:
        shown = f"{group}/{version}, Resource={resource.plural}"
        raise plain(f"GVR ({shown}) not found in OpenAPI schema")
    if kind["group"]:
        invocation.line(f"GROUP:      {kind['group']}")
    invocation.line(f"KIND:       {kind['kind']}")
    invocation.line(f"VERSION:    {kind['version']}")
    invocation.line("")
    page = Explanation(document["components"]["schemas"], recursive=arguments.on("recursive"))
    text = page.of_kind(kind, path)
    if not text:
        raise plain(f'field "{path[-1]}" does not exist' if path else f"GVK {kind} not found in OpenAPI schema")
    invocation.write(text + "\n")


def _resource(invocation: Invocation, word: str) -> tuple[Resource, list[str]]:
    """The resource and the path of fields: `pods.spec`, or `deployments.apps.spec` with the group."""
    parts = word.rstrip(".").split(".")
    for count in range(len(parts), 1, -1):
        try:
            found = invocation.find(".".join(parts[:count]))
        except KubectlError:
            continue
        if ".".join(parts[1:count]) in (found.group, f"{found.version}.{found.group}"):
            return found, parts[count:]
    return invocation.find_bare(parts[0]), parts[1:]


def _document(invocation: Invocation, group: str, version: str, resource: Resource) -> Json:
    path = f"apis/{group}/{version}" if group else f"api/{version}"
    index = invocation.ask("GET", "/openapi/v3")
    listed = (json.loads(index.text) if index.text is not None else index.body).get("paths") or {}
    if path not in listed:
        raise plain(f'couldn\'t find resource for "{group}/{version}, Resource={resource.plural}"')
    target, _, query = str(listed[path]["serverRelativeURL"]).partition("?")
    try:
        return invocation.get(target, tuple((k, v) for k, _, v in (q.partition("=") for q in query.split("&"))))
    except StatusError as error:
        raise plain(error.message) from None


def _kind_of(document: Json, group: str, version: str, resource: Resource) -> Json | None:
    """The kind that the operations of the resource's paths name."""
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths = document.get("paths") or {}
    for space in ("", "/namespaces/{namespace}"):
        for end in ("", "/{name}"):
            for operation in (paths.get(f"{prefix}{space}/{resource.plural}{end}") or {}).values():
                if isinstance(operation, dict) and operation.get(_KIND):
                    found: Json = operation[_KIND]
                    return found
    return None


class Explanation:
    """Prints schemas of one document."""

    def __init__(self, schemas: Json, *, recursive: bool) -> None:
        self.schemas = schemas
        self.recursive = recursive

    def of_kind(self, kind: Json, path: Sequence[str]) -> str:
        """The page of a kind, or of the field at `path`; empty if there is none."""
        for name in sorted(self.schemas):
            if kind in (self.schemas[name].get(_KIND) or ()):
                return self._page(self.schemas[name], path, ())
        return ""

    def _resolve(self, schema: Json) -> Json:
        reference = schema.get("$ref")
        if not reference:
            return schema
        found: Json = self.schemas.get(reference.rpartition("/")[2], schema)
        return found

    def _page(self, schema: Json, path: Sequence[str], seen: tuple[str, ...]) -> str:
        reference = schema.get("$ref", "")
        found = self._resolve(schema)
        if not path:
            return self._end(found)
        if reference and reference in seen:
            return ""
        seen = (*seen, reference)
        properties = found.get("properties") or {}
        if path[0] in properties:
            field = properties[path[0]]
            head = ""
            if len(path) == 1:
                head = f"FIELD: {path[0]} <{self._type(field)}>\n{_long_enum(field)}\n\n"
            rest = self._page(field, path[1:], ())
            return head + rest if rest else ""
        for inner in ("items", "additionalProperties"):
            if isinstance(found.get(inner), dict) and found[inner]:
                return self._page(found[inner], path, seen)
        for option in found.get("allOf") or ():
            text = self._page(option, path, seen)
            if text:
                return text
        return ""

    def _end(self, schema: Json) -> str:
        text = _indent(wrap(self._description(schema) or "<empty>", 76), 4)
        page = f"DESCRIPTION:\n{text}\n"
        external = schema.get("externalDocs")
        if external:
            page += "\n" + _external(external, 0)
        fields = self._fields(schema, 1, ())
        return page + (f"FIELDS:\n{fields}" if fields else "")

    def _description(self, schema: Json) -> str:
        found = self._resolve(schema)
        text = found["description"] + "\n" if found.get("description") else ""
        parts = [*(found.get("allOf") or ())]
        parts += [found[inner] for inner in ("items", "additionalProperties") if isinstance(found.get(inner), dict)]
        return text + "".join(self._description(part) for part in parts)

    def _fields(self, schema: Json, level: int, seen: tuple[str, ...]) -> str:
        reference = schema.get("$ref", "")
        if reference and reference in seen:
            return ""
        seen = (*seen, reference)
        found = self._resolve(schema)
        text = ""
        for name, field in sorted((found.get("properties") or {}).items()):
            text += self._field(name, field, level, required=name in (found.get("required") or ()))
            if self.recursive:
                text += self._fields(field, level + 1, seen)
        for option in found.get("allOf") or ():
            text += self._fields(option, level, seen)
        for inner in ("items", "additionalProperties"):
            if isinstance(found.get(inner), dict) and found[inner]:
                text += self._fields(found[inner], level, seen)
        return text

    def _field(self, name: str, field: Json, level: int, *, required: bool) -> str:
        indent = 2 * level
        line = f"{' ' * indent}{name}\t<{self._type(field)}>{' -required-' if required else ''}"
        line += _short_enum(field, indent) + "\n"
        if self.recursive:
            return line
        description = field.get("description") or "<no description>"
        text = _indent(wrap(description, 78 - indent), indent + 2) + "\n"
        if field.get("externalDocs"):
            text += "\n" + _external(field["externalDocs"], indent + 2)
        return line + text + "\n"

    def _type(self, schema: Json) -> str:
        """What kubectl takes for the type: `string`, `[]Container`, `map[string]string`, `Object`."""
        if isinstance(schema.get("items"), dict) and schema["items"]:
            return f"[]{self._type(schema['items'])}"
        if isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
            return f"map[string]{self._type(schema['additionalProperties'])}"
        options = schema.get("allOf") or []
        if len(options) == 1 and not schema.get("properties"):
            return self._type(options[0])
        reference = schema.get("$ref")
        if reference:
            kind = self.schemas.get(reference.rpartition("/")[2], {}).get("type")
            return str(kind) if kind not in (None, "object") else reference.rpartition(".")[2] or "Object"
        return "Object" if schema.get("type") in (None, "object") else str(schema["type"])


def _indent(text: str, width: int) -> str:
    pad = " " * width
    return pad + text.replace("\n", f"\n{pad}")


def _external(documents: Json, indent: int) -> str:
    text = _indent("EXTERNAL DOCS:", indent) + "\n"
    if documents.get("description"):
        text += _indent(wrap(documents["description"], 76 - indent), indent + 4) + "\n"
    if documents.get("url"):
        text += _indent(f"URL: {documents['url']}", indent + 4) + "\n"
    return text


def _shown(value: Any) -> str:
    return '""' if value == "" else str(value)


def _long_enum(schema: Json) -> str:
    values = schema.get("enum") or ()
    return "ENUM:" + "".join(f"\n    {_shown(value)}" for value in values) if values else ""


def _short_enum(schema: Json, indent: int) -> str:
    values = schema.get("enum") or ()
    if not values:
        return ""
    listed = ", ".join(map(_shown, values[:_ENUM_LIMIT]))
    return f"\n{' ' * indent}enum: {listed}{', ....' if len(values) > _ENUM_LIMIT else ''}"
