"""What takes seconds to make and is the same for everybody, kept in a folder of the user for the next process.

It stands in `$XDG_CACHE_HOME/simcluster/worlds` (`~/.cache/…`), or where `SIMCLUSTER_CACHE` says; with
`SIMCLUSTER_CACHE=0` nothing is kept. What is found there is what would be made: it is filed under everything it depends
on, which is the very files of this program and of plug-ins with the instants of their last change, and the versions
of Python and NumPy. A file is written beside and moved to its place, so that any number of processes may write; one
that is damaged is made anew. What is read is trusted as code is: a folder that others own or may write to is not used.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import shutil
import tempfile
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

from simcluster.engine import discovery
from simcluster.engine.content import Library
from simcluster.session.log import versions

V = TypeVar("V")

#: The environment's word on where to keep, or `0`.
VARIABLE = "SIMCLUSTER_CACHE"
#: So many files (about a megabyte each) of one edition of the program are kept, those that were used last, and so many
#: editions.
FILES_MAX, EDITIONS_MAX = 512, 3
#: What others may bring into a world.
_GROUPS = ("simcluster.apps", "simcluster.content", "simcluster.faults")
_PACKAGE = Path(discovery.__file__).parents[1]
_ENDING = ".world"


def kept(key: Hashable, library: Library | None, make: Callable[[], V]) -> V:
    """The value of a key from the folder, or made and left there. Whatever `make` raises is not kept.

    Args:
        key: with a `repr` that says everything `make` depends on besides the program and the library.
    """
    folder = _folder()
    if folder is None:
        return make()
    extra = tuple(library.extra) if library is not None else ()
    name = hashlib.sha256(f"{key!r} {_dated(extra)}".encode()).hexdigest()[:32]
    path = folder / f"{name}{_ENDING}"
    found = _read(path)
    if found is None:
        found = (make(),)
        _write(path, found)
    return cast(V, found[0])


def home() -> Path | None:
    """The folder in which all editions of the program keep theirs; None: nothing is to be kept."""
    said = os.environ.get(VARIABLE, "")
    if said == "0":
        return None
    try:
        return Path(said or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simcluster" / "worlds")
    except RuntimeError:  # nobody's home
        return None


def _folder() -> Path | None:
    """Where this edition of the program keeps what it makes; None: nowhere."""
    above = home()
    if above is None:
        return None
    folder = above / _edition()
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _forget(above.iterdir(), EDITIONS_MAX)
        about = folder.stat()
    except OSError:
        return None
    return folder if about.st_uid == os.geteuid() and not about.st_mode & 0o022 else None


def _read(path: Path) -> tuple[Any] | None:
    try:
        data = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    digest, packed = data[:32], data[32:]
    if hashlib.sha256(packed).digest() != digest:
        return None
    enabled = gc.isenabled()
    gc.disable()
    try:
        found: tuple[Any] = pickle.loads(zlib.decompress(packed))
    finally:
        if enabled:
            gc.enable()
    return found


def _write(path: Path, value: tuple[Any]) -> None:
    packed = zlib.compress(pickle.dumps(value, 5), 1)
    with suppress(OSError):  # a full disk, or an edition that another process has just cleared away
        handle, beside = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(packed).digest() + packed)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
        _forget(path.parent.iterdir(), FILES_MAX)


def _forget(places: Iterator[Path], keep: int) -> None:
    """Remove all but those that were used last."""
    dated = []
    for place in places:
        with suppress(OSError):  # another process was faster
            dated.append((place.stat().st_mtime_ns, place))
    for _, place in sorted(dated, reverse=True)[keep:]:
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


@cache
def _edition() -> str:
    """A name for this program and its plug-ins as they are, and for what else the bytes of a world depend on."""
    plugins = [one for group in _GROUPS for one in discovery.installed(group)]
    modules = sorted({one.value.partition(":")[0].partition(".")[0] for one in plugins})
    summary = f"{sorted(versions().items())} {_dated((_PACKAGE, *_places(modules)))}"
    return hashlib.sha256(summary.encode()).hexdigest()[:16]


@cache
def _dated(roots: tuple[Path, ...]) -> str:
    """A digest of the names, sizes and dates of all files below some folders."""
    summary = hashlib.sha256()
    for root in roots:
        for name, size, changed_ns in sorted(_files(str(root))):
            summary.update(f"{name}\0{size}\0{changed_ns}\n".encode())
    return summary.hexdigest()


def _places(modules: list[str]) -> Iterator[Path]:
    """Folders or files of top-level modules besides this package."""
    for name in modules:
        spec = find_spec(name) if name != _PACKAGE.name else None
        if spec is not None:
            yield from map(Path, spec.submodule_search_locations or [spec.origin or ""])


def _files(place: str) -> Iterator[tuple[str, int, int]]:
    """Every file below a folder, or a file itself: path, bytes, instant of the last change."""
    if not os.path.isdir(place):
        about = os.stat(place)
        yield place, about.st_size, about.st_mtime_ns
        return
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif not entry.name.endswith((".pyc", ".pyo")):
                about = entry.stat()
                yield entry.path, about.st_size, about.st_mtime_ns
