"""Builds `kubernetes-1.32.json` from the published OpenAPI v2 definitions.

Run as `python -m simcluster.api.schema.compile DEFINITIONS.json`. Kept of each type: its
kinds, and per field the type, whether it is required, the patch strategy, the keys of
list maps. Descriptions are left out. The output is one type a line, sorted, so that two
runs give equal bytes and a new version of Kubernetes gives a readable difference.

Codes of types in the output: `s` string, `i` and `l` int32 and int64, `d` double, `b` bool,
`y` base64 bytes, `q` quantity, `x` int or string, `t` time, `u` time with microseconds,
`*` anything; `[T` list of T, `{T` map of T, `@name` the named type.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).with_name("kubernetes-1.32.json")

_SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "u",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Duration": "s",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "*",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "*",
}
_PREFIXES = {
    "io.k8s.api.": "",
    "io.k8s.apimachinery.pkg.apis.": "",
    "io.k8s.apiextensions-apiserver.pkg.apis.": "",
    "io.k8s.kube-aggregator.pkg.apis.": "",
}
_SCALARS = {
    ("string", None): "s",
    ("string", "byte"): "y",
    ("string", "date-time"): "t",
    ("integer", "int32"): "i",
    ("integer", "int64"): "l",
    ("integer", None): "l",
    ("number", "double"): "d",
    ("number", None): "d",
    ("boolean", None): "b",
}


def short_name(name: str) -> str:
    """`core.v1.Pod` for `io.k8s.api.core.v1.Pod`.

    >>> short_name("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    'meta.v1.ObjectMeta'
    """
    for prefix, replacement in _PREFIXES.items():
        if name.startswith(prefix):
            return replacement + name.removeprefix(prefix)
    return name


def _plain_type(schema: dict[str, Any]) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):  # the definitions mark optional fields as nullable
        kind = next(k for k in kind if k != "null")
    return kind


def _code(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    reference = schema.get("$ref")
    if reference is not None:
        name = reference.rsplit("/", 1)[1]
        if name in _SPECIAL:
            return _SPECIAL[name]
        return "@" + short_name(name) if definitions[name].get("properties") else "*"
    kind = _plain_type(schema)
    if kind == "array":
        return "[" + _code(schema["items"], definitions)
    if kind == "object":
        values = schema.get("additionalProperties")
        return "{" + _code(values, definitions) if isinstance(values, dict) else "*"
    if kind is None:
        return "*"
    return _SCALARS[kind, schema.get("format")]


def _field(schema: dict[str, Any], definitions: dict[str, Any]) -> str | list[Any]:
    code = _code(schema, definitions)
    extras: dict[str, Any] = {}
    for key, short in (
        ("x-kubernetes-patch-strategy", "patch"),
        ("x-kubernetes-patch-merge-key", "key"),
        ("x-kubernetes-list-type", "list"),
        ("x-kubernetes-list-map-keys", "keys"),
        ("x-kubernetes-map-type", "map"),
    ):
        if key in schema:
            extras[short] = schema[key]
    return [code, extras] if extras else code


def compile_type(definition: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The compact form of one type."""
    out: dict[str, Any] = {}
    kinds = [[k["group"], k["version"], k["kind"]] for k in definition.get("x-kubernetes-group-version-kind", ())]
    if kinds:
        out["kinds"] = sorted(kinds)
    if definition.get("required"):
        out["required"] = sorted(definition["required"])
    if "x-kubernetes-map-type" in definition:
        out["map"] = definition["x-kubernetes-map-type"]
    properties = definition.get("properties", {})
    out["fields"] = {name: _field(properties[name], definitions) for name in sorted(properties)}
    return out


def compile_definitions(definitions: dict[str, Any]) -> str:
    """The text of the compact file."""
    lines = []
    for name in sorted(definitions):
        if name in _SPECIAL or not definitions[name].get("properties"):
            continue
        compact = compile_type(definitions[name], definitions)
        text = json.dumps(compact, separators=(",", ":"), sort_keys=True)
        lines.append(f"{json.dumps(short_name(name))}:{text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write the compact file beside this module."""
    if len(arguments) != 1:
        print("usage: python -m simcluster.api.schema.compile DEFINITIONS.json", file=sys.stderr)
        return 2
    document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    definitions = document.get("definitions") or document["$defs"]
    OUTPUT.write_text(compile_definitions(definitions), encoding="utf-8")
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
