"""YAML as `kubectl` and the API server read it: sigs.k8s.io/yaml over a YAML 1.1 parser.

Differs from PyYAML's own loader where manifests meet it: dates and `12:30` stay texts, `1e3`
is a number, keys become texts, a repeated key is noted. Errors carry Go's text and line.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import yaml

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: PyYAML's own scanner words some errors differently from libyaml, which Go's parser follows.
_LIBYAML_TEXTS = {
    "mapping values are not allowed here": "mapping values are not allowed in this context",
    "sequence entries are not allowed here": "block sequence entries are not allowed in this context",
    "mapping keys are not allowed here": "mapping keys are not allowed in this context",
}

#: Digits of the longest integer; longer ones are read as numbers of floating point.
_LONGEST_INTEGER = 40
#: max_flow_level and max_indents of go-yaml.
_MAX_DEPTH = 10_000
_BRACKETS = re.compile(r"[\[\]{}]")
#: A line that begins with so many indents, or with so many lists in lists.
_INDENTED = re.compile(r"^[ ?-]{10000}", re.M)
#: Values that a document may unfold to.
_MOST_VALUES = 400_000
#: Texts of up to so many characters, and as many of them, are parsed once: manifests are applied again and again.
_REMEMBERED, _TEXTS = 64 * 1024, 256


class YamlSyntaxError(ValueError):
    """No YAML: the message is `yaml: line 5: mapping values are not allowed in this context`."""


class _Loader(_Base):  # type: ignore[misc]
    """Scalars as sigs.k8s.io/yaml resolves them; notes repeated keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.repeated: list[str] = []

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        """A mapping with texts as keys; the last of repeated keys wins."""
        self.flatten_mapping(node)
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key_text(self.construct_object(key_node, deep=True))
            if key in out:
                self.repeated.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            out[key] = self.construct_object(value_node, deep=True)
        return out


def _construct_map(loader: _Loader, node: Any) -> dict[str, Any]:
    return loader.construct_mapping(node, deep=True)


def _construct_integer(loader: _Loader, node: Any) -> int | float:
    text = loader.construct_scalar(node).replace("_", "")
    if len(text) > _LONGEST_INTEGER:
        return _finite(float(text), text)
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits.startswith("0o"):
        return sign * int(digits[2:], 8)
    if len(digits) > 1 and digits.startswith("0"):
        return sign * int(digits, 8)
    return sign * int(digits)


def _construct_number(loader: _Loader, node: Any) -> int | float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    number = _finite(float(text.replace(".inf", "inf").replace(".nan", "nan")), text)
    # JSON has one kind of number: 1e3 and 1.0 reach the server as 1000 and 1.
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


def _finite(number: float, text: str) -> float:
    """A number that JSON has. Raises YamlSyntaxError."""
    if number - number != 0.0:  # an infinity, or not a number
        shown = "NaN" if number != number else "+Inf" if number > 0 else "-Inf"
        raise YamlSyntaxError(f"json: unsupported value: {shown}")
    return number


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _resolvers() -> dict[str, list[tuple[str, Any]]]:
    """PyYAML's implicit resolvers without dates and base-60 numbers."""
    dropped = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    kept = {
        first: [(tag, pattern) for tag, pattern in entries if tag not in dropped]
        for first, entries in _Base.yaml_implicit_resolvers.items()
    }
    integer = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|0[0-7_]*|[1-9][0-9_]*)$")
    number = re.compile(
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
    )
    for first in "-+0123456789.":
        entries = kept.setdefault(first, [])
        if first != ".":
            entries.append(("tag:yaml.org,2002:int", integer))
        entries.append(("tag:yaml.org,2002:float", number))
    return kept


_Loader.yaml_implicit_resolvers = _resolvers()
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_number)


def decode_yaml(text: str) -> tuple[list[Any], list[str]]:
    """The documents of a YAML or JSON text, and its repeated keys.

    Returns:
        Documents (None for an empty one), and `line 12: key "name" already set in map` for
        each repeated key.

    Raises:
        YamlSyntaxError: with Go's message.
    """
    if len(text) > _REMEMBERED:
        return _decoded(text)
    documents, repeated = _remembered(text)
    return _copied(documents), list(repeated)


@functools.lru_cache(maxsize=_TEXTS)
def _remembered(text: str) -> tuple[list[Any], list[str]]:
    return _decoded(text)


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    return value


def _decoded(text: str) -> tuple[list[Any], list[str]]:
    _refuse_deep(text)
    loader = _Loader(text)
    documents = []
    try:
        while loader.check_data():
            documents.append(loader.get_data())
            if "*" in text and "&" in text:
                _refuse_bomb(documents[-1])
    except yaml.MarkedYAMLError as error:
        raise YamlSyntaxError(_message(error)) from None
    except yaml.YAMLError as error:
        raise YamlSyntaxError(f"yaml: {error}") from None
    except RecursionError:
        raise YamlSyntaxError("yaml: exceeded max depth") from None
    finally:
        loader.dispose()
    return documents, loader.repeated


def _refuse_deep(text: str) -> None:
    """Refuse a text that nests beyond go-yaml's limit, before a parser recurses over it. Raises YamlSyntaxError."""
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        depth = 0
        for bracket in _BRACKETS.findall(text):
            depth += 1 if bracket in "[{" else -1
            if depth > _MAX_DEPTH:
                raise YamlSyntaxError(f"yaml: exceeded max depth of {_MAX_DEPTH}")
    if len(text) > _MAX_DEPTH and _INDENTED.search(text):
        raise YamlSyntaxError(f"yaml: exceeded max depth of {_MAX_DEPTH}")


def _refuse_bomb(document: Any) -> None:
    """Refuse aliases that would unfold to more than a body can hold. Raises YamlSyntaxError."""
    waiting, seen = [document], 0
    while waiting:
        value = waiting.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        seen += len(inner)
        if seen > _MOST_VALUES:
            raise YamlSyntaxError("yaml: document contains excessive aliasing")
        waiting += inner


def _message(error: yaml.MarkedYAMLError) -> str:
    problem = _LIBYAML_TEXTS.get(error.problem or "", error.problem or "unknown problem parsing YAML content")
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark is not None else 0
    # Go's parser counts lines from 0 in errors of the grammar, from 1 in errors of the scanner,
    # and name no line for its first one.
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"yaml: line {line}: {problem}" if line else f"yaml: {problem}"
