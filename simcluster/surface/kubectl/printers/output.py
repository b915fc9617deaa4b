"""`-o`: which printer a format means, and what it makes of objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simcluster.api.objects import Json, thaw
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.flags import Arguments
from simcluster.surface.kubectl.printers.custom_columns import CustomColumns, from_file
from simcluster.surface.kubectl.printers.go_value import go_syntax
from simcluster.surface.kubectl.printers.gotemplate import GoExecutionError, GoTemplateError, render
from simcluster.surface.kubectl.printers.jsonpath import JsonPathError, Template, parse
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml

#: Formats of commands that print an object after a change.
CHANGE_FORMATS = (
    "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,template,templatefile,yaml"
)
#: Formats of `get`.
GET_FORMATS = (
    "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,"
    "name,template,templatefile,wide,yaml"
)
_PATTERNS = (
    "jsonpath-as-json",
    "jsonpath-file",
    "jsonpath",
    "go-template-file",
    "go-template",
    "templatefile",
    "template",
)


class Output:
    """A parsed `-o`.

    Attributes:
        format: empty, wide, name, json, yaml, jsonpath, jsonpath-as-json, go-template, custom-columns.
    """

    def __init__(self, arguments: Arguments, files: Any, *, formats: str = CHANGE_FORMATS) -> None:
        value = arguments.text("output")
        self.keep_managed = arguments.has("show-managed-fields") and arguments.on("show-managed-fields")
        self.allow_missing = not arguments.has("allow-missing-template-keys") or arguments.on(
            "allow-missing-template-keys"
        )
        self.source = ""
        self.columns: CustomColumns | None = None
        self._template: Template | None = None
        self.format = self._parse(value, arguments, files, formats)

    def _parse(self, value: str, arguments: Arguments, files: Any, formats: str) -> str:
        if not value and arguments.has("template") and arguments.text("template"):
            value = "go-template"
        name, equals, rest = value.partition("=")
        known = formats.split(",")
        if value == "" or (value in ("json", "yaml", "name", "wide") and value in known):
            return value
        if name in ("custom-columns", "custom-columns-file") and name in known:
            spec = from_file(_file(files, rest, "template")) if name.endswith("-file") else rest
            no_headers = arguments.has("no-headers") and arguments.on("no-headers")
            self.columns = CustomColumns(spec, no_headers=no_headers)
            return "custom-columns"
        if name in _PATTERNS and name in known:
            return self._parse_template(name, equals, rest, arguments, files)
        raise plain(
            f'unable to match a printer suitable for the output format "{value}", allowed formats are: {formats}'
        )

    def _parse_template(self, name: str, equals: str, rest: str, arguments: Arguments, files: Any) -> str:
        if not rest and arguments.has("template"):
            rest = arguments.text("template")
        if not rest:
            raise plain("template format specified but no template given")
        self.source = _file(files, rest) if name.endswith("file") else rest
        if name.startswith("jsonpath"):
            try:
                self._template = parse(self.source)
            except JsonPathError as error:
                raise plain(f"error parsing jsonpath {self.source}, {error}") from None
            return "jsonpath-as-json" if name == "jsonpath-as-json" else "jsonpath"
        return "go-template"

    @property
    def is_table(self) -> bool:
        """Whether `get` asks the server for a Table."""
        return self.format in ("", "wide")

    def text(self, objects: Sequence[Json], *, as_list: bool, names: Sequence[str] = (), bare: bool = False) -> str:
        """The objects in this format; with `as_list` wrapped in a v1 List (`bare`: without a version).

        Raises:
            KubectlError: the template does not fit.
        """
        if self.format == "name":
            return "".join(f"{name}\n" for name in names)
        cleaned = [self.clean(obj) for obj in objects]
        if self.format == "custom-columns" and self.columns is not None:
            return self.columns.text(cleaned)
        value: Json
        if as_list:
            version = {} if bare else {"resourceVersion": ""}
            value = {"apiVersion": "v1", "items": cleaned, "kind": "List", "metadata": version}
        else:
            value = cleaned[0]
        if self.format == "json":
            return to_json(value)
        if self.format == "yaml":
            return to_yaml(value)
        if self.format == "go-template":
            return self._go_template(value)
        return self._jsonpath(value)

    def _jsonpath(self, value: Json) -> str:
        assert self._template is not None, self.format
        try:
            if self.format == "jsonpath-as-json":
                found = self._template.find(value, allow_missing=self.allow_missing)
                return to_json(found)
            return self._template.render(value, allow_missing=self.allow_missing)
        except JsonPathError as error:
            raise KubectlError(
                f'error: error executing jsonpath "{self.source}": Error executing template: {error}. '
                "Printing more information for debugging the template:\n"
                f"\ttemplate was:\n\t\t{self.source}\n"
                f"\tobject given to jsonpath engine was:\n\t\t{go_syntax(value)}\n\n"
            ) from None

    def _go_template(self, value: Json) -> str:
        try:
            return render(self.source, value)
        except GoTemplateError as error:
            raise plain(f"error parsing template {self.source}, {error}") from None
        except GoExecutionError as error:
            raise plain(f"error executing template {json.dumps(self.source)}: {error}") from None

    def clean(self, obj: Json) -> Json:
        """The object without managed fields, unless they are asked for."""
        if self.keep_managed or "managedFields" not in obj.get("metadata", {}):
            return obj
        metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        return {**thaw(obj), "metadata": metadata}


def _file(files: Any, path: str, what: str = "--template") -> str:
    try:
        return str(files[path])
    except KeyError:
        raise plain(f"error reading {what} {path}, open {path}: no such file or directory\n") from None
