"""Fork: a second world with the same past and, if treated alike, the same future.

A world is one object graph without generators, lambdas, threads or open files, so pickle
copies it. What can never change (stored API objects, sealed blocks of telemetry) carries
the marker `Shared` and is passed by identity instead of being copied, which makes a fork
cost what can change, not what was seen. Containers that change but hold only what cannot
are `Flat`, such as `FlatDict`: they are copied in one go; of objects that are `Parted` only those attributes
are looked into that can hold something that changes. What draws at random is `Sown`: copies of one past can be given
different futures. A plain pickle of a world, or of a snapshot, stays correct.
"""

from __future__ import annotations

import copyreg
import gc
import io
import pickle
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from simcluster.engine.collector import Collector

K = TypeVar("K")
V = TypeVar("V")
W = TypeVar("W")


class Shared:
    """Marker: instances are immutable once they are part of a world; forks share them."""

    __slots__ = ()


class Flat:
    """Marker: instances change, but what they hold does not; their `copy` is another one with the same content."""

    __slots__ = ()


class Sown(Flat):
    """Marker: what draws at random. `resown(salt)` is another one that stands as far, and draws otherwise from here."""

    __slots__ = ()


class FlatDict(dict[K, V], Flat):
    """A dict whose keys and values never change: texts, numbers, `Shared` objects, tuples of those. It itself may."""

    __slots__ = ()

    def copy(self) -> FlatDict[K, V]:
        """Another one with the same content."""
        return FlatDict(self)


class FlatList(list[V], Flat):
    """A list of what never changes, as `FlatDict`."""

    __slots__ = ()

    def copy(self) -> FlatList[V]:
        """Another one with the same content."""
        return FlatList(self)


class Parted:
    """Marker: instances have a `__dict__`, no `__getstate__`, and many attributes of texts, numbers or `Shared`."""

    __slots__ = ()


#: What an attribute may hold to be taken over as it is.
_PLAIN = (str, int, float, bool, bytes, type(None))


def _shared(index: int) -> object:
    """Stands in a snapshot for a shared object; `_Unpickler.find_class` puts the object in its place."""
    raise AssertionError("a snapshot can only be restored by the snapshot it belongs to")


def _copied(index: int) -> object:
    """The same for a flat container; `_Unpickler.find_class` puts a copy in its place."""
    raise AssertionError("a snapshot can only be restored by the snapshot it belongs to")


def _parted(index: int) -> object:
    """The same for an object some of whose attributes are taken over."""
    raise AssertionError("a snapshot can only be restored by the snapshot it belongs to")


class _Pickler(pickle.Pickler):
    # A dispatch table and neither `reducer_override` nor `persistent_id`: the C pickler looks a class
    # up by itself, asks the second for every instance of any class, and the last for every text and
    # number in the world (three times slower, measured).
    def __init__(self, buffer: io.BytesIO, *, at_once: bool) -> None:
        super().__init__(buffer, protocol=5)
        self._at_once = at_once  # nothing changes before the one copy is made
        self.shared: list[object] = []
        shared = _kinds_of(Shared)
        self._plain = frozenset([*_PLAIN, *shared])
        self._looked_into: dict[type, dict[str, None]] = {}  # attributes by class
        self.dispatch_table = {
            **copyreg.dispatch_table,
            **dict.fromkeys(_kinds_of(Parted), self._part),
            **dict.fromkeys(shared, self._share),
            **dict.fromkeys(_kinds_of(Flat), self._copy),
        }

    def _share(self, obj: object) -> tuple[Callable[[int], object], tuple[int]]:
        self.shared.append(obj)
        return _shared, (len(self.shared) - 1,)

    def _copy(self, obj: Any) -> tuple[Callable[[int], object], tuple[int]]:
        self.shared.append(obj if self._at_once else obj.copy())
        return _copied, (len(self.shared) - 1,)

    def _part(self, obj: Parted) -> tuple[Callable[[int], object], tuple[int], dict[str, Any]]:
        kind: type = obj.__class__
        taken = obj.__dict__.copy()
        names = self._looked_into.setdefault(kind, {})
        rest = {name: taken.pop(name) for name in names if name in taken}
        if not self._plain.issuperset(map(type, taken.values())):
            more = {name: value for name, value in taken.items() if type(value) not in self._plain}
            names.update(dict.fromkeys(more))
            rest.update({name: taken.pop(name) for name in more})
        self.shared.append((kind, taken))
        return _parted, (len(self.shared) - 1,), rest


def _kinds_of(marker: type) -> list[type]:
    """All classes there are with a marker."""
    found, queue = dict.fromkeys([marker]), [marker]
    while queue:
        below: list[type] = type.__subclasses__(queue.pop())
        fresh = [kind for kind in below if kind not in found]
        found.update(dict.fromkeys(fresh))
        queue += fresh
    return list(found)


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, shared: list[object], salt: int | None) -> None:
        super().__init__(buffer)
        self._lookup = shared.__getitem__
        self._salt = salt

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__:
            if name == _shared.__name__:
                return self._lookup
            if name == _copied.__name__:
                return self._copy
            if name == _parted.__name__:
                return self._begin
        return super().find_class(module, name)

    def _copy(self, index: int) -> object:
        found: Any = self._lookup(index)
        anew = self._salt is not None and issubclass(type(found), Sown)
        copy: object = found.resown(self._salt) if anew else found.copy()
        return copy

    def _begin(self, index: int) -> object:
        found: Any = self._lookup(index)
        obj: object = object.__new__(found[0])
        obj.__dict__.update(found[1])
        return obj


class Snapshot(Generic[W], Shared):
    """A frozen copy of a world, from which any number of live ones can be restored; a part of one is shared."""

    def __init__(self, world: W) -> None:
        self._take(world, at_once=False)

    @classmethod
    def of_now(cls, world: W) -> Snapshot[W]:
        """One that must be restored, once, before anything changes."""
        found: Snapshot[W] = cls.__new__(cls)
        found._take(world, at_once=True)
        return found

    def _take(self, world: W, *, at_once: bool) -> None:
        buffer = io.BytesIO()
        pickler = _Pickler(buffer, at_once=at_once)
        enabled = gc.isenabled()
        gc.disable()  # a collection in the middle of a copy costs more than the copy
        try:
            pickler.dump(world)
        finally:
            if enabled:
                gc.enable()
        self._data = buffer.getvalue()
        self._shared = pickler.shared

    @property
    def size_bytes(self) -> int:
        """Bytes of what was copied; what is shared is not counted."""
        return len(self._data)

    def restore(self, salt: int | None = None) -> W:
        """A new world in the state of the snapshot.

        Args:
            salt: everything in it that is `Sown` is so anew, differently for every salt; None: it goes on as it was.
        """
        enabled = gc.isenabled()
        gc.disable()
        try:
            Collector.world_made()
            return cast(W, _Unpickler(io.BytesIO(self._data), self._shared, salt).load())
        finally:
            if enabled:
                gc.enable()


def fork(world: W) -> W:
    """A copy of the world. Call it between two timers only."""
    return Snapshot.of_now(world).restore()
