"""Builds `descriptions-1.32.json.gz`: what `kubectl explain` prints about types and fields.

Run as `python -m simcluster.api.schema.compile_descriptions SWAGGER.json`, with the answer
of a kube-apiserver 1.32 to `/openapi/v2`: other than the file published with the sources it
lists the values of enumerations. Kept of each type: its description, those of its fields,
enumerated values, and the names of types that the facts of `compile.py` fold into scalars.
Equal input gives equal bytes.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from simcluster.api.schema.compile import short_name

OUTPUT = Path(__file__).with_name("descriptions-1.32.json.gz")


def compile_definition(definition: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The compact form of one type: `d` its text, `f` fields, `e` enumerations, `r` references."""
    fields: dict[str, str] = {}
    enums: dict[str, list[Any]] = {}
    references: dict[str, str] = {}
    for name, schema in sorted(definition.get("properties", {}).items()):
        if schema.get("description"):
            fields[name] = schema["description"]
        inner = schema.get("items") or schema.get("additionalProperties") or schema
        if isinstance(inner, dict):
            if "enum" in inner:
                enums[name] = inner["enum"]
            reference = inner.get("$ref", "").rsplit("/", 1)[-1]
            if reference and not definitions[reference].get("properties"):
                references[name] = short_name(reference)
    compact = {"d": definition.get("description", ""), "f": fields, "e": enums, "r": references}
    return {key: value for key, value in compact.items() if value}


def compile_definitions(definitions: dict[str, Any]) -> bytes:
    """The bytes of the compact file."""
    found = {short_name(name): compile_definition(definitions[name], definitions) for name in sorted(definitions)}
    text = json.dumps(found, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def main(arguments: list[str]) -> int:
    """Write the compact file beside this module."""
    if len(arguments) != 1:
        print("usage: python -m simcluster.api.schema.compile_descriptions SWAGGER.json", file=sys.stderr)
        return 2
    OUTPUT.write_bytes(compile_definitions(json.loads(Path(arguments[0]).read_text(encoding="utf-8"))["definitions"]))
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
