"""YAML documents checked against a model; errors name the file, the line and the nearest right key."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Sequence
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _QuickLoader(_BASE):  # type: ignore[misc]
    """Finds the type of a plain scalar once, of which files have the same again and again."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node."""
        if kind is yaml.ScalarNode and implicit[0] and not self.yaml_path_resolvers:
            return _tag_of(value)
        return super().resolve(kind, value, implicit)


@functools.lru_cache(maxsize=4096)
def _tag_of(plain: str) -> str:
    resolvers = _BASE.yaml_implicit_resolvers
    for tag, pattern in (*resolvers.get(plain[:1], ()), *resolvers.get(None, ())):
        if pattern.match(plain):
            return str(tag)
    return str(_BASE.DEFAULT_SCALAR_TAG)


class DocumentError(ValueError):
    """A document is not what it should be; the message is for the person who wrote it."""

    exit_code = 2  # of the command line: what was asked for is wrong


def load_document(text: str, model: type[M], source: str) -> M:
    """Parse and check one YAML document.

    Args:
        source: name of the file, for messages.

    Raises:
        DocumentError: `FILE:LINE: what is wrong`, one line per mistake.
    """
    try:
        data = _parsed(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise DocumentError(f"{source}:{line}: {getattr(error, 'problem', None) or error}") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        messages = [_message(e["loc"], e["type"], e["msg"], model, tree, source) for e in error.errors()]
        raise DocumentError("\n".join(messages)) from None


def _parsed(text: str) -> Any:
    """The value of a document, by libyaml where it is there; errors are always those of PyYAML's own parser."""
    try:
        return yaml.load(text, _QuickLoader)
    except yaml.YAMLError:
        return yaml.safe_load(text)


def _message(
    place: tuple[int | str, ...], kind: str, text: str, model: type[BaseModel], tree: yaml.Node | None, source: str
) -> str:
    line = _line_of(tree, place)
    path = ".".join(str(part) for part in place)
    if kind != "extra_forbidden":
        return f"{source}:{line}: {path}: {text[0].lower()}{text[1:]}"
    allowed = _keys_at(model, place[:-1])
    near = difflib.get_close_matches(str(place[-1]), allowed, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(allowed))}"
    return f"{source}:{line}: unknown key {str(place[-1])!r}: {hint}"


def _line_of(node: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Line of the key or item at a place, or of the nearest thing above it."""
    line = node.start_mark.line if node is not None else 0
    for part in place:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    line, node = key.start_mark.line, value
                    break
            else:
                break
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1


def _keys_at(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Keys that the model allows at a place."""
    current: type[BaseModel] | None = model
    for part in place:
        if isinstance(part, str) and current is not None and part in current.model_fields:
            current = _model_in(current.model_fields[part].annotation)
    return list(current.model_fields) if current is not None else []


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model inside a type such as `list[list[Call]]`, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None
