"""Content as data: YAML files read into typed models, with errors a person can act on.

A fault, a noise profile and a task are each one YAML file and one pydantic model. What is
wrong with a file is said with its name, the line, and the nearest right word. Third
parties add folders by the entry-point group `simcluster.content` or on the command line;
a folder holds `tasks/`, `faults/` and `noise/`, each with YAML files at any depth, and the
id of a piece of content is its file's name without `.yaml`.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from simcluster.engine.clock import parse_duration
from simcluster.engine.fork import Shared

#: Distributions announce folders of content under this entry-point group; the value names a
#: package, whose folder is searched.
ENTRY_POINT_GROUP = "simcluster.content"

Where = tuple[str | int, ...]
M = TypeVar("M", bound="Content")


class ContentError(Exception):
    """A content file cannot be used.

    Attributes:
        path: the file.
        line: 1-based line of the offence.
        problem: what is wrong and what would be right.
    """

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")
        self.path = path
        self.line = line
        self.problem = problem

    def __reduce__(self) -> tuple[type[ContentError], tuple[Path, int, str]]:
        return (ContentError, (self.path, self.line, self.problem))


class UnknownName(LookupError):
    """Nobody has this id; the message lists the nearest that exist."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.nearest = nearest(name, known)
        offer = f"; did you mean {', '.join(self.nearest)}?" if self.nearest else ""
        listed = "" if self.nearest else f"; there are: {', '.join(sorted(known)) or 'none'}"
        super().__init__(f"unknown {kind} {name!r}{offer}{listed}")
        self._known = tuple(known)

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, Sequence[str]]]:
        return (UnknownName, (self.kind, self.name, self._known))


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` of the known words that look most like `name`, best first.

    >>> nearest("titel", ["title", "suites", "truth"])
    ['title']
    """
    words = sorted(known)
    close = difflib.get_close_matches(name, words, n=count, cutoff=0.55)
    if close or len(name) < 3:
        return close
    return [word for word in words if name in word or word in name][:count]


class Content(BaseModel, Shared):
    """Base of every content model: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data:
            if key not in known and key not in cls.model_fields:
                close = nearest(str(key), known)
                offer = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(sorted(known))}"
                raise PydanticCustomError(
                    "unknown_key", "unknown key '{key}'; {offer}", {"key": str(key), "offer": offer}
                )
        return data


def _duration(value: Any) -> Any:
    if value == 0 or not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise ValueError(f"a duration needs a unit: write {value}s or {value}m")
    try:
        return parse_duration(value)
    except ValueError:
        raise ValueError(f"{value!r} is no duration; write one like 90s, 1m30s or 500ms") from None


def _write_duration(value: int) -> str:
    return f"{value}ns"


#: A duration written as `90s`, held as nanoseconds, dumped as `90000000000ns`.
Nanoseconds = Annotated[int, BeforeValidator(_duration), PlainSerializer(_write_duration)]


@dataclass(frozen=True)
class Document:
    """One parsed YAML file and the line of everything in it."""

    path: Path
    data: Any
    lines: Mapping[Where, int]

    def line(self, where: Where) -> int:
        """Line of the innermost place of `where` that the file has.

        pydantic puts names of union members into its locations; they are skipped.
        """
        found: Where = ()
        for step in where:
            if (*found, step) in self.lines:
                found = (*found, step)
        return self.lines.get(found, 1)


#: What the parser found -> what usually has to be changed.
_REPAIRS = (
    ("found character '\\t'", "indent with spaces, not with tabs"),
    ("mapping values are not allowed", "put quotes around a value that contains ': '"),
    ("could not find expected ':'", "a key needs a colon and a space after it"),
    ("expected <block end>", "this line is indented differently from its neighbours"),
    ("found unexpected end of stream", "a quote or a bracket is not closed"),
    ("but found '<stream end>'", "a quote, a bracket or a brace is not closed"),
    ("found another document", "keep one document in a file: remove the second ---"),
    ("found undefined alias", "put quotes around a value that starts with *"),
    ("found character", "put quotes around a value that starts with @, ` or %"),
    ("expected ',' or", "a bracket or brace is not closed"),
)


#: A file with more values than this is refused: aliases of aliases would fill the memory.
_PLACES_MAX = 1_000_000


def read_document(path: Path) -> Document:
    """Parse a YAML file.

    Raises:
        ContentError: the file is missing, is no YAML, or has a key twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ContentError(path, 1, f"cannot be read: {reason}") from None
    loader = _loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ContentError(path, 1, "the file is empty")
        lines: dict[Where, int] = {}
        _note_lines(path, node, (), lines)
        return Document(path, loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "broken YAML"
        repair = next(
            (hint for start, hint in _REPAIRS if start in problem), "check this line's indentation and quotes"
        )
        raise ContentError(path, mark.line + 1 if mark else 1, f"broken YAML: {problem}; {repair}") from None
    except yaml.YAMLError as error:
        raise ContentError(path, 1, f"broken YAML: {error}") from None
    except RecursionError:
        raise ContentError(path, 1, "something stands inside itself (an alias of its own), or too deep") from None
    finally:
        loader.dispose()


def _loader(text: str) -> Any:
    """A loader by libyaml, which is ten times faster, if it understands the text; errors are PyYAML's own."""
    quick: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yaml.compose(text, quick)
    except (yaml.YAMLError, RecursionError):
        return yaml.SafeLoader(text)
    return quick(text)


def _note_lines(path: Path, node: yaml.Node, where: Where, lines: dict[Where, int]) -> None:
    lines.setdefault(where, node.start_mark.line + 1)
    if len(lines) > _PLACES_MAX:
        raise ContentError(path, 1, f"more than {_PLACES_MAX} values, aliases written out; take fewer")
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _note_lines(path, item, (*where, index), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            name = str(key.value)
            if (*where, name) in lines:
                raise ContentError(path, line, f"the key {name!r} stands twice; keep one")
            lines[(*where, name)] = line
            _note_lines(path, value, (*where, name), lines)


def load_content(path: Path, model: type[M]) -> M:
    """Read one file into its model.

    Raises:
        ContentError: with the file, the line and what would be right.
    """
    return model_of(read_document(path), model)


def model_of(document: Document, model: type[M]) -> M:
    """A parsed file as its model. Raises ContentError."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise _explain(document, error) from None


def _explain(document: Document, error: ValidationError) -> ContentError:
    """The first offence, in the order of the file's lines."""
    found: list[tuple[int, str]] = []
    entries = error.errors(include_url=False)
    for entry in entries:
        where: Where = tuple(entry["loc"])
        if entry["type"] == "too_short" and any(e["loc"][: len(where)] == where and e is not entry for e in entries):
            continue  # pydantic drops items that have an error, and then misses them
        if entry["type"] == "unknown_key":
            where = (*where, entry["ctx"]["key"])
        known = [str(step) for step in where if not isinstance(step, str) or "-" not in step]
        place = ".".join(known)
        problem = entry["msg"].removeprefix("Value error, ")
        found.append((document.line(where), problem if entry["type"] == "unknown_key" else f"{place}: {problem}"))
    line, problem = min(found)
    return ContentError(document.path, line, problem)


@dataclass(frozen=True)
class Library:
    """Where content is looked for: the package's own folders, installed ones, and given ones.

    Attributes:
        extra: folders named on the command line; each holds `tasks/`, `faults/`, `noise/`.
    """

    extra: tuple[Path, ...] = ()

    def files(self, room: str, own: Path) -> dict[str, Path]:
        """id -> file of everything in a room.

        Args:
            room: `tasks`, `faults` or `noise`.
            own: the package's own folder of that room.

        Raises:
            ContentError: two files have one id.
        """
        found: dict[str, Path] = {}
        for folder in (own, *(root / room for root in (*installed_folders(), *self.extra))):
            for path in sorted(folder.rglob("*.yaml")):
                if path.stem in found:
                    raise ContentError(path, 1, f"the id {path.stem!r} is already taken by {found[path.stem]}")
                found[path.stem] = path
        return found


def installed_folders() -> list[Path]:
    """Folders that installed distributions announce, sorted by entry point."""
    folders: list[Path] = []
    for entry in sorted(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)):
        package = importlib.import_module(entry.value)
        folders.extend(Path(place) for place in getattr(package, "__path__", ()))
    return folders
