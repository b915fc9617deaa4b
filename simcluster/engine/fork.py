"""Fork: a second world with the same past and, if treated alike, the same future.

A world is one object graph without generators, lambdas, threads or open files, so pickle
copies it. What can never change (stored API objects, sealed blocks of telemetry) carries
the marker `Shared` and is passed by identity instead of being copied, which makes a fork
cost what can change, not what was seen. A plain pickle of a world stays correct.
"""

from __future__ import annotations

import copyreg
import gc
import io
import pickle
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

W = TypeVar("W")


class Shared:
    """Marker: instances are immutable once they are part of a world; forks share them."""

    __slots__ = ()


def _shared(index: int) -> object:
    """Stands in a snapshot for a shared object; `_Unpickler.find_class` puts the object in its place."""
    raise AssertionError("a snapshot can only be restored by the snapshot it belongs to")


class _Pickler(pickle.Pickler):
    # A dispatch table and neither `reducer_override` nor `persistent_id`: the C pickler looks a class
    # up by itself, asks the second for every instance of any class, and the last for every text and
    # number in the world (three times slower, measured).
    def __init__(self, buffer: io.BytesIO) -> None:
        super().__init__(buffer, protocol=5)
        self.shared: list[object] = []
        self.dispatch_table = {**copyreg.dispatch_table, **dict.fromkeys(_markers(), self._share)}

    def _share(self, obj: object) -> tuple[Callable[[int], object], tuple[int]]:
        self.shared.append(obj)
        return _shared, (len(self.shared) - 1,)


def _markers() -> list[type]:
    """All classes there are whose instances are shared."""
    found, queue = dict.fromkeys([Shared]), [Shared]
    while queue:
        fresh = [kind for kind in queue.pop().__subclasses__() if kind not in found]
        found.update(dict.fromkeys(fresh))
        queue += fresh
    return list(found)


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, shared: list[object]) -> None:
        super().__init__(buffer)
        self._lookup = shared.__getitem__

    def find_class(self, module: str, name: str) -> Any:
        if name == _shared.__name__ and module == __name__:
            return self._lookup
        return super().find_class(module, name)


class Snapshot(Generic[W]):
    """A frozen copy of a world, from which any number of live ones can be restored."""

    def __init__(self, world: W) -> None:
        buffer = io.BytesIO()
        pickler = _Pickler(buffer)
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

    def restore(self) -> W:
        """A new world in the state of the snapshot."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            return cast(W, _Unpickler(io.BytesIO(self._data), self._shared).load())
        finally:
            if enabled:
                gc.enable()


def fork(world: W) -> W:
    """A copy of the world. Call it between two timers only."""
    return Snapshot(world).restore()
