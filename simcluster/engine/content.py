"""Content as data: YAML files read into typed models, with errors a person can act on.

A fault, a noise profile and a task are each one YAML file and one pydantic model. What is
wrong with a file is said with its name, the line, and the nearest right word. Third
parties add folders by the entry-point group `simcluster.content` or on the command line;
a folder holds `tasks/`, `faults/` and `noise/`, each with YAML files at any depth, and the
id of a piece of content is its file's name without `.yaml`.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from simcluster.engine.clock import parse_duration
from simcluster.engine.discovery import installed
from simcluster.engine.fork import Shared
from simcluster.engine.yamldialect import QuickLoader, SlowLoader

#: Distributions announce folders of content under this entry-point group; the value names a
#: package, whose folder is searched.
ENTRY_POINT_GROUP = "simcluster.content"

#: Names that a message lists where nothing is near.
_LISTED = 20

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
    """Nobody has this id; the message lists the nearest that exist, or some of all where nothing is near."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.nearest = nearest(name, known)
        offer = f"; did you mean {', '.join(self.nearest)}?" if self.nearest else ""
        shown, more = sorted(known)[:_LISTED], len(known) - _LISTED
        others = f" and {more} more" if more > 0 else ""
        listed = "" if self.nearest else f"; there are: {', '.join(shown) or 'none'}{others}"
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

    #: What checks a model is put together at its first use: of most models, as a part of another one's.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

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
    ("could not determine a constructor", "remove the !tag: plain values are enough"),
    ("%YAML", "remove the line that begins with %"),
    ("incompatible YAML document", "remove the line that begins with %"),
    ("found character", "put quotes around a value that starts with @, ` or %"),
    (
        "expected ',' or",
        "a bracket or brace is not closed, or a text that holds one has no quotes around it",
    ),
)


#: A file with more values than this is refused: aliases of aliases would fill the memory.
_PLACES_MAX = 1_000_000
#: A file with more bytes than this is refused: it is no content, or a device that never ends.
_BYTES_MAX = 64 << 20
#: Values inside values inside values: deeper ones are refused.
_DEPTH_MAX = 200


def read_document(path: Path, *, words: bool = False) -> Document:
    """Parse a YAML file.

    Args:
        words: read scalars by YAML 1.2 (`engine.yamldialect`): `on`, `off`, `yes` and `no` are words.

    Raises:
        ContentError: the file is missing, is no YAML, has a key twice, or is too large or too deep.
    """
    return parsed(path, _text_of(path), words=words)


def parsed(path: Path, text: str, *, words: bool = False) -> Document:
    """The same of a text; `path` stands for it in messages. Raises ContentError."""
    try:
        _refuse_depth(path, text)
        loader, node = _composed(text, words)
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
    except yaml.reader.ReaderError as error:
        raise _unreadable(path, text, error) from None
    except yaml.YAMLError as error:
        raise ContentError(path, 1, f"broken YAML: {error}") from None
    except RecursionError:
        raise ContentError(path, 1, "something stands inside itself (an alias of its own), or too deep") from None


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            read = file.read(_BYTES_MAX + 1)
        if len(read) > _BYTES_MAX:
            raise ContentError(path, 1, f"more than {_BYTES_MAX >> 20} MiB: this is no content file")
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        line = read.count(b"\n", 0, error.start) + 1
        raise ContentError(path, line, "cannot be read: not UTF-8 text; save the file as UTF-8") from None
    except OSError as error:
        raise ContentError(path, 1, f"cannot be read: {error.strerror or error}") from None


def _unreadable(path: Path, text: str, error: yaml.reader.ReaderError) -> ContentError:
    """A character that no YAML file has."""
    found = error.character if isinstance(error.character, int) else ord(error.character[:1])
    line = text.count("\n", 0, error.position) + 1
    return ContentError(path, line, f"broken YAML: the character U+{found:04X} stands in no YAML file; remove it")


def _composed(text: str, words: bool) -> tuple[Any, yaml.Node | None]:
    """Loader and tree, by libyaml, which is ten times faster, if it understands the text; errors are PyYAML's own."""
    quick: Any = QuickLoader if words else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    slow: Any = SlowLoader if words else yaml.SafeLoader
    try:
        loader = quick(text)
        return loader, loader.get_single_node()
    except (yaml.YAMLError, RecursionError):
        loader = slow(text)
        return loader, loader.get_single_node()


#: A line that begins so many lists, or stands so far to the right.
_FAR_RIGHT = re.compile(rf"^[ ?:-]{{{_DEPTH_MAX}}}", re.MULTILINE)


def _refuse_depth(path: Path, text: str) -> None:
    """libyaml follows brackets within brackets on the stack of the process, which ends."""
    if text.count("[") + text.count("{") <= _DEPTH_MAX and not _FAR_RIGHT.search(text):
        return
    depth = 0
    try:
        for event in yaml.parse(text, QuickLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH_MAX:
                line = event.start_mark.line + 1 if event.start_mark is not None else 1
                raise ContentError(path, line, f"more than {_DEPTH_MAX} lists and maps inside each other")
    except yaml.YAMLError as error:
        if "nesting" not in str(error):
            return  # who parses it says what is wrong, with better words
        mark = getattr(error, "problem_mark", None)  # libyaml has a limit of its own from PyYAML 6.0.4 on
        line = mark.line + 1 if mark is not None else 1
        raise ContentError(path, line, f"more than {_DEPTH_MAX} lists and maps inside each other") from None


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


class Piece(Content):
    """Content with a file of its own, whose name is the id."""

    id: str


P = TypeVar("P", bound=Piece)


def piece_of(document: Document, model: type[P]) -> P:
    """A parsed file as its model. Raises ContentError: the file is wrong, or has another name than its id."""
    found = model_of(document, model)
    if found.id != document.path.stem:
        where = document.line(("id",))
        raise ContentError(document.path, where, f"id must be the file's name, {document.path.stem!r}")
    return found


def model_of(
    document: Document, model: type[M], explain: Callable[[Document, ValidationError], ContentError] | None = None
) -> M:
    """A parsed file as its model; `explain` words what is wrong with it. Raises ContentError."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise (explain or _explain)(document, error) from None
    except RecursionError:
        raise ContentError(document.path, 1, "something stands inside itself, or too deep") from None


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


def _files_in(folder: Path) -> tuple[tuple[str, Path], ...]:
    """Ids and files of content in a folder, at any depth."""
    return tuple((path.stem, path) for path in sorted(folder.rglob("*.yaml")))


#: The same of the package's own folders: what stands there does not change while it runs.
_own_files_in = functools.cache(_files_in)


@dataclass(frozen=True)
class Library:
    """Where content is looked for: the package's own folders, installed ones, and given ones.

    Attributes:
        extra: folders named on the command line; each holds `tasks/`, `faults/`, `noise/`, `apps/`.
    """

    extra: tuple[Path, ...] = ()

    def files(self, room: str, *own: Path) -> dict[str, Path]:
        """id -> file of everything in a room.

        Args:
            room: `tasks`, `faults` or `noise`.
            own: the package's own folders of that room.

        Raises:
            ContentError: two files have one id.
        """
        found: dict[str, Path] = {}
        given = (_files_in(root / room) for root in self._roots())
        for stem, path in (pair for pairs in (*map(_own_files_in, own), *given) for pair in pairs):
            if stem in found:
                raise ContentError(path, 1, f"the id {stem!r} is already taken by {found[stem]}")
            found[stem] = path
        return found

    def folders(self, room: str) -> list[Path]:
        """The folders in a room of the installed and the given ones: one for each piece, by name."""
        rooms = [root / room for root in self._roots()]
        return [path for room in rooms if room.is_dir() for path in sorted(room.iterdir()) if path.is_dir()]

    def path_of(self, kind: str, id_or_path: str, room: str, *own: Path) -> Path:
        """The file of an id in a room (see `files`), or the path itself if it ends in `.yaml`.

        Raises:
            UnknownName: nothing has this id; the nearest are listed.
            ContentError: two files have one id.
        """
        if id_or_path.endswith((".yaml", ".yml")):
            return Path(id_or_path)
        files = self.files(room, *own)
        if id_or_path not in files:
            raise UnknownName(kind, id_or_path, sorted(files))
        return files[id_or_path]

    def _roots(self) -> list[Path]:
        packages = [plugin.load() for plugin in installed(ENTRY_POINT_GROUP)]
        return [*(Path(place) for package in packages for place in package.__path__), *self.extra]
