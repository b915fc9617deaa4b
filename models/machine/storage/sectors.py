"""The surface of one drive: physical sectors that cannot be read, or come back wrong, and what was remapped.

A bad sector is latent until somebody reads it; then the drive knows of it (pending). Writing it remaps it.
Numbers are sectors of 512 bytes (LBA) at the border and physical sectors of 4 KiB inside.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from simcluster.engine import Simulation
from simcluster.engine.streams import uniforms_at
from simcluster.models.machine.storage.drivemodel import BLOCK, SECTORS_A_BLOCK, DriveModel
from simcluster.models.machine.storage.latentlaw import step_bytes

#: Most physical sectors that one call makes bad (256 MiB).
MOST_AT_ONCE = 65_536


class SectorMap:
    """What is wrong with a drive's surface.

    Attributes:
        pending: physical sectors known to be unreadable, in the order in which they were found.
        remapped: how many sectors were replaced by spare ones.
    """

    __slots__ = ("_bad", "_wrong", "model", "pending", "remapped", "sim", "since_ns")

    def __init__(self, sim: Simulation, model: DriveModel) -> None:
        self.sim = sim
        self.model = model
        self.pending: dict[int, None] = {}
        self.remapped = 0
        self.since_ns: dict[int, int] = {}  # bad physical sector -> when it went bad
        self._bad: list[int] = []
        self._wrong: list[int] = []

    @property
    def flawless(self) -> bool:
        """Whether every sector gives back what was written."""
        return not self._bad and not self._wrong

    # Knobs.

    def go_bad(self, lba: int, count: int = SECTORS_A_BLOCK) -> None:
        """These sectors cannot be read any more, nor can the rest of their physical sectors. Raises ValueError."""
        for block in self._blocks(lba, count):
            self._spoil(block)

    def burst(self, lba: int, errors: int, identity: str) -> list[int]:
        """A cluster of errors from `lba` on, with the distances that drives in the field show.

        Returns:
            first sector of every physical sector that went bad. Raises ValueError.
        """
        if not 1 <= errors <= MOST_AT_ONCE:
            raise ValueError(f"a burst of {errors} errors")
        self._blocks(lba, 1)
        key = self.sim.streams.key("latent-errors", identity, lba)
        draws = uniforms_at(np.arange(errors, dtype=np.uint64) + np.uint64(key >> 1), 1)
        block, last = lba // SECTORS_A_BLOCK, self.model.size_bytes // BLOCK
        found: list[int] = []
        for step in step_bytes(draws):
            if block < last:
                found.append(block * SECTORS_A_BLOCK)
                self._spoil(block)
            block += max(1, round(float(step) / BLOCK))
        return found

    def corrupt(self, lba: int, count: int = SECTORS_A_BLOCK) -> None:
        """These sectors give back something else than was written, without an error. Raises ValueError."""
        for block in self._blocks(lba, count):
            if not _has(self._wrong, block):
                insort(self._wrong, block)

    def _spoil(self, block: int) -> None:
        if block not in self.since_ns:
            self.since_ns[block] = self.sim.now
            insort(self._bad, block)

    def _blocks(self, lba: int, count: int) -> range:
        if lba < 0 or count < 1 or lba + count > self.model.sectors:
            raise ValueError(f"sectors {lba}..{lba + count - 1} are not on a drive of {self.model.sectors} sectors")
        blocks = range(lba // SECTORS_A_BLOCK, (lba + count - 1) // SECTORS_A_BLOCK + 1)
        if len(blocks) > MOST_AT_ONCE:
            raise ValueError(f"more than {MOST_AT_ONCE * BLOCK >> 20} MiB at once")
        return blocks

    # What commands meet.

    def bad_in(self, block: int, count: int) -> list[int]:
        """Unreadable physical sectors of a range, sorted."""
        return _slice(self._bad, block, count)

    def wrong_in(self, block: int, count: int) -> list[int]:
        """Physical sectors of a range that come back wrong, sorted."""
        return _slice(self._wrong, block, count)

    def found(self, block: int) -> None:
        """A read failed: the drive knows now."""
        self.pending[block] = None

    def write(self, block: int, count: int) -> bool:
        """New data for a range: bad sectors are remapped, wrong ones are right again. False when no spare is left."""
        for bad in self.bad_in(block, count):
            if self.remapped >= self.model.spare_sectors:
                return False
            self.remapped += 1
            self._bad.remove(bad)
            del self.since_ns[bad]
            self.pending.pop(bad, None)
        for wrong in self.wrong_in(block, count):
            self._wrong.remove(wrong)
        return True

    def forget(self) -> None:
        """Another drive: nothing is wrong with it."""
        self.pending, self.since_ns, self._bad, self._wrong, self.remapped = {}, {}, [], [], 0

    # What the drive's own reading of its surface finds.

    def latent(self) -> list[int]:
        """Bad physical sectors that nobody has found."""
        return [block for block in self._bad if block not in self.pending]

    def patrolled(self, period_ns: int, begin_ns: int, now_ns: int) -> list[int]:
        """Latent sectors that a patrol which passes over everything once a period has come across until now."""
        whole, seen = self.model.size_bytes // BLOCK, []
        for block in self.latent():
            place_ns = begin_ns + period_ns * block // whole
            since = self.since_ns[block]
            first = place_ns if place_ns >= since else place_ns + -(-(since - place_ns) // period_ns) * period_ns
            if first <= now_ns:
                seen.append(block)
        return seen


def _slice(blocks: list[int], first: int, count: int) -> list[int]:
    if not blocks:
        return []
    begin = bisect_left(blocks, first)
    return blocks[begin : bisect_left(blocks, first + count, begin)]


def _has(blocks: list[int], block: int) -> bool:
    at = bisect_left(blocks, block)
    return at < len(blocks) and blocks[at] == block
