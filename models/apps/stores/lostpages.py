"""Pages of a store's files that the cache cannot hold, for they lie on blocks that nobody can read (or read right).

A page that is in the cache (or the kernel's) when its block goes bad is served from there until it is let go; from
then on every access to it goes to the drive and fails. Which pages of a class are held follows from one number of each
page: the same ones in every fork.
"""

from __future__ import annotations

from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.machine.storage import BLOCK
from simcluster.models.machine.storage.fileload import SpoiltBlock


class LostPages:
    """The lost pages of one database's file.

    Attributes:
        reads: by class of pages, accesses to lost pages that the drive has not been asked for yet.
    """

    def __init__(self, page: int, key: int) -> None:
        self.reads: dict[str, float] = {}
        self._blocks_a_page = max(1, page // BLOCK)
        self._key = key
        self._lost: dict[int, tuple[str, tuple[int, ...]]] = {}  # page -> its class and its spoilt blocks

    def follow(self, spoilt: list[SpoiltBlock], cache: PageCache, hot: str, rest: str) -> None:
        """Take in which blocks of the file are spoilt now; what was written anew can be held again.

        Args:
            hot, rest: the two classes of the file's pages.
        """
        found: dict[int, list[int]] = {}
        classes: dict[int, str] = {}
        for one in spoilt:
            page = one.block // self._blocks_a_page
            found.setdefault(page, []).append(one.block)
            classes[page] = hot if one.hot else classes.get(page, rest)
        before, self._lost = self._lost, {}
        for page, blocks in found.items():
            known = cache.classes.get(classes[page])
            if known is None:
                continue
            if page in before or uniform_at(mix(self._key, 0x10571), page) < known.absent:
                self._lost[page] = (classes[page], tuple(blocks))
        for name in (hot, rest):
            number = sum(1 for one, _ in self._lost.values() if one == name)  # integers
            cache.lose(name, number)

    def asked(self) -> tuple[tuple[int, float], ...]:
        """Reads of spoilt blocks that are to be made now: (4 KiB block of the file, reads)."""
        if not self._lost:
            self.reads = {}
            return ()
        numbers: dict[str, int] = {}
        for name, _ in self._lost.values():
            numbers[name] = numbers.get(name, 0) + 1
        asked = [(b, self.reads.get(c, 0.0) / numbers[c]) for c, blocks in self._lost.values() for b in blocks]
        self.reads = {}
        return tuple(sorted(asked))

    def __bool__(self) -> bool:
        return bool(self._lost)
