"""A cache of pages, known by how much of each class of pages it holds.

A data set has two classes: its hot pages, to which most accesses go, and all others. Inside a
class all pages are alike, so that an access misses with the share of the class that is not held.
What misses is read in; what no longer fits is taken from where a byte is touched least often (an
LRU list's end). After a start the cache is empty and fills by misses, as real ones do.

Behind it lies the kernel's page cache of the same files, unless they are opened past it (O_DIRECT): what the store
reads from the disk stays there, too, as long as there is room (`trim`), so that a page which the store has let go is
read again without the disk. Every page that the store holds came through the kernel: of the pages it does not hold,
the kernel has those that it holds beyond them.

What is left out: pages by name, scans that push the hot pages out (both stores guard against them), what the kernel
keeps of a container that is gone (its successor reads everything anew).
"""

from __future__ import annotations

import math

#: Weight of the newest tick in how often a class is touched.
_RECENT = 0.1
#: Classes untouched for long still count as touched so often (accesses per byte and second).
_FLOOR = 1e-12


class PageClass:
    """Pages that are touched alike: bytes there are, held, held and changed, held by the kernel, and never readable."""

    __slots__ = ("behind", "changed", "held", "lost", "rate", "size")

    def __init__(self, size: float) -> None:
        self.size = size
        self.held = 0.0
        self.behind = 0.0
        self.changed = 0.0
        self.lost = 0.0  # bytes of pages that lie on spoilt blocks
        self.rate = 0.0  # accesses per byte and second

    @property
    def missing(self) -> float:
        """Share of accesses that miss."""
        return 1.0 - min(1.0, self.held / self.size) if self.size > 0.0 else 0.0

    @property
    def absent(self) -> float:
        """Share of the pages that neither the store nor the kernel holds."""
        return 1.0 - min(1.0, max(self.held, self.behind) / self.size) if self.size > 0.0 else 0.0

    @property
    def uncached(self) -> float:
        """Share of the pages that the store does not hold which the kernel has not either."""
        gap = self.size - self.held
        return min(1.0, max(0.0, self.size - max(self.held, self.behind)) / gap) if gap > 0.0 else 1.0


class PageCache:
    """The cache of one store.

    Attributes:
        capacity: bytes.
        page: bytes of a page.
        direct: whether the files are read past the kernel's page cache.
        classes: by name.
        hits, misses: accesses since the start.
    """

    def __init__(self, capacity: int, page: int, *, direct: bool = False) -> None:
        self.capacity = capacity
        self.page = page
        self.direct = direct
        self.classes: dict[str, PageClass] = {}
        self.hits = 0.0
        self.misses = 0.0

    @property
    def held(self) -> float:
        """Bytes in the cache."""
        return math.fsum(c.held for c in self.classes.values())

    @property
    def behind(self) -> float:
        """Bytes of the files in the kernel's page cache."""
        return math.fsum(c.behind for c in self.classes.values())

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
        found.behind = min(found.behind, size)
        found.changed = min(found.changed, found.held)
        return found

    def access(self, name: str, count: float, seconds: float) -> float:
        """`count` random accesses to a class within a time; how many of them the disk is asked for.

        A page that many miss at once is read once; one that cannot be read, by each of them.
        """
        found = self.classes[name]
        if count <= 0.0 or found.size <= 0.0:
            return 0.0
        uncached = found.uncached
        pages = max(1.0, found.size / self.page)
        failing = count * found.lost / found.size
        gone = max(0.0, pages * found.missing - found.lost / self.page)
        # Draws with replacement: of `gone` absent pages so many are touched at least once.
        wanted = count * gone / pages
        missed = min(gone, gone * wanted / (gone + wanted)) if gone > 0.0 else 0.0
        found.held = min(found.size - found.lost, found.held + missed * self.page)
        found.rate += _RECENT * (count / found.size / seconds - found.rate)
        read = missed * uncached
        if not self.direct:
            found.behind = min(found.size - found.lost, found.behind + read * self.page)
        missed += failing
        self.hits += count - missed
        self.misses += missed
        return read + failing

    def scan(self, name: str, size: float) -> float:
        """So many bytes of a class are read in sequence, past the store's cache; how many come from the disk."""
        found = self.classes[name]
        read = size * found.absent
        if not self.direct:
            found.behind = max(found.behind, min(found.size - found.lost, max(found.held, found.behind) + read))
        return read

    def trim(self, room: float) -> None:
        """The kernel has so much room for pages of the files, and lets go what is more."""
        there = self.behind
        if there > room:
            for found in self.classes.values():
                found.behind *= max(0.0, room) / there

    def emptied(self) -> PageCache:
        """The cache of a process that has begun anew in the same container: empty, before the same kernel."""
        fresh = PageCache(self.capacity, self.page, direct=self.direct)
        for name, found in self.classes.items():
            fresh.resize(name, found.size).behind = found.behind
        return fresh

    def lose(self, name: str, pages: int) -> None:
        """So many pages of a class lie on blocks that cannot be read, and are not held."""
        found = self.classes[name]
        found.lost = min(found.size, float(pages * self.page))
        found.held = min(found.held, found.size - found.lost)
        found.behind = min(found.behind, found.size - found.lost)
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
        """All is gone, in the kernel as well."""
        for found in self.classes.values():
            found.held = found.behind = found.changed = found.rate = 0.0
