"""A cache of pages, known by how much of each class of pages it holds.

A data set has two classes: its hot pages, to which most accesses go, and all others. Inside a
class all pages are alike, so that an access misses with the share of the class that is not held.
What misses is read in; what no longer fits is taken from where a byte is touched least often (an
LRU list's end). After a start the cache is empty and fills by misses, as real ones do.
What is left out: pages by name, scans that push the hot pages out (both stores guard against them).
"""

from __future__ import annotations

import math

#: Weight of the newest tick in how often a class is touched.
_RECENT = 0.1
#: Classes untouched for long still count as touched so often (accesses per byte and second).
_FLOOR = 1e-12


class PageClass:
    """Pages that are touched alike: bytes there are, held, held and changed, and those that cannot be held."""

    __slots__ = ("changed", "held", "lost", "rate", "size")

    def __init__(self, size: float) -> None:
        self.size = size
        self.held = 0.0
        self.changed = 0.0
        self.lost = 0.0  # bytes of pages that lie on spoilt blocks
        self.rate = 0.0  # accesses per byte and second

    @property
    def missing(self) -> float:
        """Share of accesses that miss."""
        return 1.0 - min(1.0, self.held / self.size) if self.size > 0.0 else 0.0


class PageCache:
    """The cache of one store.

    Attributes:
        capacity: bytes.
        page: bytes of a page.
        classes: by name.
        hits, misses: accesses since the start.
    """

    def __init__(self, capacity: int, page: int) -> None:
        self.capacity = capacity
        self.page = page
        self.classes: dict[str, PageClass] = {}
        self.hits = 0.0
        self.misses = 0.0

    @property
    def held(self) -> float:
        """Bytes in the cache."""
        return math.fsum(c.held for c in self.classes.values())

    @property
    def changed(self) -> float:
        """Bytes in the cache that are newer than on the disk."""
        return math.fsum(c.changed for c in self.classes.values())

    def resize(self, name: str, size: float) -> PageClass:
        """The class of that name, with so many bytes of pages."""
        found = self.classes.get(name)
        if found is None:
            found = self.classes[name] = PageClass(size)
        found.size = size
        found.held = min(found.held, size)
        found.changed = min(found.changed, found.held)
        return found

    def access(self, name: str, count: float, seconds: float) -> float:
        """`count` random accesses to a class within a time; how many missed.

        A page that many miss at once is read once; one that cannot be read, by each of them.
        """
        found = self.classes[name]
        if count <= 0.0 or found.size <= 0.0:
            return 0.0
        pages = max(1.0, found.size / self.page)
        failing = count * found.lost / found.size
        gone = max(0.0, pages * found.missing - found.lost / self.page)
        # Draws with replacement: of `gone` absent pages so many are touched at least once.
        wanted = count * gone / pages
        missed = min(gone, gone * wanted / (gone + wanted)) if gone > 0.0 else 0.0
        found.held = min(found.size - found.lost, found.held + missed * self.page)
        found.rate += _RECENT * (count / found.size / seconds - found.rate)
        missed += failing
        self.hits += count - missed
        self.misses += missed
        return missed

    def lose(self, name: str, pages: int) -> None:
        """So many pages of a class lie on blocks that cannot be read, and are not held."""
        found = self.classes[name]
        found.lost = min(found.size, float(pages * self.page))
        found.held = min(found.held, found.size - found.lost)
        found.changed = min(found.changed, found.held)

    def change(self, name: str, count: float) -> None:
        """`count` random pages of a class are changed."""
        found = self.classes[name]
        clean = max(0.0, found.held - found.changed)
        pages = clean / self.page
        if pages > 0.0:
            found.changed += min(clean, self.page * pages * count / (pages + count))

    def evict(self) -> float:
        """Let go what does not fit; bytes of changed pages that had to be written for it."""
        excess = self.held - self.capacity
        if excess <= 0.0:
            return 0.0
        weights = [c.held / max(c.rate, _FLOOR) for c in self.classes.values()]
        total = math.fsum(weights)
        written = 0.0
        for found, weight in zip(self.classes.values(), weights, strict=True):
            if found.held <= 0.0:
                continue
            loss = min(found.held, excess * weight / total)
            dirty = loss * found.changed / found.held
            found.held -= loss
            found.changed -= dirty
            written += dirty
        return written

    def clean(self, share: float = 1.0) -> float:
        """Changed pages are written (a checkpoint); how many bytes."""
        written = 0.0
        for found in self.classes.values():
            written += found.changed * share
            found.changed *= 1.0 - share
        return written

    def forget(self) -> None:
        """All is gone."""
        for found in self.classes.values():
            found.held = found.changed = found.rate = 0.0
