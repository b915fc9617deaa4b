"""One ext4 file system on a partition: files with extents, space and inodes, a journal, and what it does on errors.

The page cache is the caller's word (`cached`): what is in memory does not touch the drive. Written data stay in
memory until fsync, or until a lot of them have piled up. Left out: directories as files, quotas, extended attributes.
Sources of the kernel's lines: fs/ext4/super.c, inode.c, namei.c and fs/jbd2/journal.c of Linux 6.8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.machine.storage.disk import DeviceAnswer, Disk, Partition
from simcluster.models.machine.storage.drivemodel import BLOCK, SECTORS_A_BLOCK
from simcluster.models.machine.storage.extents import Extent, FreeSpace, cut, grown, pieces
from simcluster.models.machine.storage.io import IoOutcome

#: Memory bandwidth of a copy out of the page cache, and a system call.
_MEMORY_BYTES_PER_S, _CALL_NS = 8_000_000_000, 600
#: mkfs.ext4: an inode of 256 bytes for 16 KiB, 5 % for root, a journal of at most 1 GiB (128 MiB below 128 GiB).
_BYTES_AN_INODE, _INODE_BYTES, _RESERVED_PERCENT = 16384, 256, 5
_FIRST_INODE, _FIRST_TABLE_BLOCK = 12, 1057
#: Written data that pile up before the kernel writes them by itself.
_MOST_DIRTY_BYTES, _MOST_DIRTY_RANGES = 64 << 20, 64
#: The journal commits every 5 s.
COMMIT_NS = 5 * SECOND


def uuid_from(key: int, number: int) -> str:
    """A UUID drawn from a key."""
    text = f"{mix(key, 100 + number):016x}{mix(key, 200 + number):016x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:32]}"


class Usage(NamedTuple):
    """How full a file system is: bytes and inodes."""

    total_bytes: int
    used_bytes: int
    available_bytes: int
    total_inodes: int
    free_inodes: int


class StoredFile:
    """One file: where it lies, and which part of it is hot.

    Attributes:
        hot_share, hot_weight: that share of its blocks gets that share of the random reads.
        dirty: ranges of blocks in the file that are only in memory.
        known: its inode is in memory.
        changed_ns: when it was last written.
    """

    __slots__ = ("changed_ns", "dirty", "extents", "hot_share", "hot_weight", "inode", "known", "size_bytes")

    def __init__(self, inode: int, changed_ns: int) -> None:
        self.inode = inode
        self.changed_ns = changed_ns
        self.size_bytes = 0
        self.extents: list[Extent] = []
        self.hot_share, self.hot_weight = 0.2, 0.8
        self.dirty: list[Extent] = []
        self.known = True

    @property
    def blocks(self) -> int:
        """How many blocks it has."""
        return sum(count for _, count in self.extents)  # integers


class FileSystem:
    """A mounted (or at least known) file system.

    Args:
        base: bytes and inodes that others than its stored files take now, by mount point (the installed system, images,
            containers' layers, files made by hand).

    Attributes:
        read_only: it refuses to be written.
        aborted: its journal has failed; only mounting it anew helps.
        remount_on_error: mount option `errors=remount-ro`, else `errors=continue`.
    """

    def __init__(
        self,
        disk: Disk,
        partition: Partition,
        mount_point: str,
        total_bytes: int,
        base: Callable[[str], tuple[int, int]],
    ) -> None:
        self.disk = disk
        self.sim = disk.sim
        self.device = partition.name
        self.uuid = partition.uuid
        self.start = partition.start
        self.mount_point = mount_point
        self.total_bytes = total_bytes
        self.reserved_bytes = total_bytes * _RESERVED_PERCENT // 100
        self.base = base
        self.read_only = False
        self.aborted = False
        self.remount_on_error = True
        self.error_count = 0
        self.blocks = partition.sectors // SECTORS_A_BLOCK
        self.inodes = partition.sectors * 512 // _BYTES_AN_INODE
        # The system itself lies on the first 40 % of the root file system.
        first = self.blocks * 2 // 5 if mount_point == "/" else self.inodes // (BLOCK // _INODE_BYTES) + 2 * 1057
        self._free = FreeSpace(first, self.blocks - first)
        self._files: dict[str, StoredFile] = {}
        self._own_blocks = 0
        self._next_inode = _FIRST_INODE + (120_000 if mount_point == "/" else 0)
        self._commits = 0
        disk.on_dead.append(self._device_lost)
        disk.on_replaced.append(self._replaced)

    # Names and places.

    def exists(self, file: str) -> bool:
        """Whether a process has stored a file of this name."""
        return file in self._files

    def size_of(self, file: str) -> int:
        """Bytes of a file; 0 if there is none."""
        found = self._files.get(file)
        return 0 if found is None else found.size_bytes

    def stored(self, file: str) -> StoredFile | None:
        """A file's record."""
        return self._files.get(file)

    def files_below(self, folder: str) -> list[str]:
        """Paths of the stored files in a folder and below, sorted."""
        prefix = folder.rstrip("/") + "/"
        return sorted(path for path in self._files if path.startswith(prefix))

    def blocks_of(self, file: str) -> list[Extent]:
        """Extents of a file, in blocks of the file system."""
        found = self._files.get(file)
        return [] if found is None else list(found.extents)

    def sector_of(self, file: str, offset: int = 0) -> int:
        """The drive's sector (LBA) of a place in a file. Raises ValueError when the file has no such place."""
        for _, block, _ in pieces(self.blocks_of(file), offset // BLOCK, 1):
            return self.lba(block)
        raise ValueError(f"{file} has no byte {offset}")

    def lba(self, block: int) -> int:
        """First sector on the drive of a block of the file system."""
        return self.start + block * SECTORS_A_BLOCK

    def file_at(self, lba: int) -> tuple[str, int]:
        """Which file, and which byte of it, lies on a sector; ("", 0) if none does."""
        block = (lba - self.start) // SECTORS_A_BLOCK
        for path, found in self._files.items():
            place = 0
            for first, count in found.extents:
                if first <= block < first + count:
                    return path, (place + block - first) * BLOCK
                place += count
        return "", 0

    def heat(self, file: str, share: float = 0.2, weight: float = 0.8) -> None:
        """So large a part of a file's blocks gets so large a part of its random reads. Raises ValueError."""
        if not (0.0 < share <= 1.0 and 0.0 <= weight <= 1.0) or file not in self._files:
            raise ValueError(f"share {share} and weight {weight} of {file}")
        self._files[file].hot_share, self._files[file].hot_weight = share, weight

    # Space.

    def usage(self) -> Usage:
        """How full it is."""
        system_bytes, system_inodes = self.base(self.mount_point)
        used = system_bytes + self._own_blocks * BLOCK
        inodes = system_inodes + len(self._files)
        return Usage(
            self.total_bytes,
            used,
            max(0, self.total_bytes - self.reserved_bytes - used),
            self.inodes,
            max(0, self.inodes - inodes),
        )

    def allocate(self, file: str, size_bytes: int) -> str:
        """Make a file, or change its size; `ENOSPC`, `EROFS`, `EIO` or "" ."""
        refused = self._unwritable()
        if refused:
            return refused
        found = self._files.get(file)
        if found is None:
            if self.usage().free_inodes <= 0:
                return "ENOSPC"
            found = StoredFile(self._next_inode, self.sim.now)
        wanted, has = -(-size_bytes // BLOCK), found.blocks
        if wanted > has:
            if (wanted - has) * BLOCK > self.usage().available_bytes or wanted - has > self._free.blocks:
                return "ENOSPC"
            found.extents = grown(found.extents, self._free.take(wanted - has))
        elif wanted < has:
            found.extents, rest = cut(found.extents, wanted)
            self._free.give_back(rest)
        if file not in self._files:
            self._files[file] = found
            self._next_inode += 1
        found.size_bytes, found.changed_ns = size_bytes, self.sim.now
        self._own_blocks += wanted - has
        return ""

    def remove(self, file: str) -> str:
        """Remove a file; `ENOENT`, `EROFS`, `EIO` or ""."""
        found = self._files.get(file)
        if found is None:
            return "ENOENT"
        refused = self._unwritable()
        if refused:
            return refused
        del self._files[file]
        self._free.give_back(found.extents)
        self._own_blocks -= found.blocks
        return ""

    def rename(self, file: str, name: str) -> str:
        """Give a file another name, in place of a file that had it; `ENOENT`, `EROFS`, `EIO` or "". Reads no data."""
        refused = self._unwritable() if file in self._files else "ENOENT"
        if refused or file == name:
            return refused
        if name in self._files:
            self.remove(name)
        self._files[name] = self._files.pop(file)
        return ""

    def refusal(self, size_bytes: int = 1) -> str:
        """Why new data of a size cannot be written: `EROFS`, `EIO`, `ENOSPC` or ""."""
        refused = self._unwritable()
        if refused:
            return refused
        usage = self.usage()
        return "ENOSPC" if usage.available_bytes < size_bytes or usage.free_inodes <= 0 else ""

    def _unwritable(self) -> str:
        if self.read_only:
            return "EROFS"
        return "" if self.disk.present else "EIO"

    # One operation.

    def open(self, file: str, *, comm: str = "", pid: int = 0) -> IoOutcome:
        """Look a file up and read its inode."""
        found = self._files.get(file)
        if found is None:
            return IoOutcome(_CALL_NS, "ENOENT")
        if found.known:
            return IoOutcome(_CALL_NS)
        block = self.table_block(found.inode)
        answer = self.disk.read(self.lba(block), SECTORS_A_BLOCK, buffered=self.device)
        if answer.failed:
            text = f"inode #{found.inode}: block {block}: comm {comm}: unable to read itable block"
            self.sim.after(answer.delay_ns, self.metadata_error, f"__ext4_get_inode_loc_noinmem:4586: {text}")
            return IoOutcome(answer.delay_ns, "EIO")
        found.known = True
        return IoOutcome(answer.delay_ns + _CALL_NS)

    def table_block(self, inode: int) -> int:
        """Block of the inode table that holds an inode."""
        return _FIRST_TABLE_BLOCK + inode * _INODE_BYTES // BLOCK

    def read(
        self, file: str, offset: int, size: int, *, comm: str = "", pid: int = 0, cached: float = 0.0
    ) -> IoOutcome:
        """Read a range of a file; it stops at the first block that cannot be read."""
        found = self._files.get(file)
        if found is None:
            return IoOutcome(_CALL_NS, "ENOENT")
        size = max(0, min(size, found.size_bytes - offset))
        delay = _CALL_NS + size * SECOND // _MEMORY_BYTES_PER_S
        if not size or cached >= 1.0:
            return IoOutcome(delay)
        first, last = offset // BLOCK, (offset + size - 1) // BLOCK
        wrong = -1
        for place, block, count in pieces(found.extents, first, last - first + 1):
            answer = self._read_run(block, count, cached, sequential=count > 32)
            delay += answer.delay_ns
            if wrong < 0 and answer.wrong_lba >= 0:
                wrong = (place + (answer.wrong_lba - self.lba(block)) // SECTORS_A_BLOCK) * BLOCK
            if answer.failed:
                bad = answer.bad_lba - self.lba(block) if answer.bad_lba >= 0 else 0
                return IoOutcome(delay, "EIO", wrong >= 0, (place + bad // SECTORS_A_BLOCK) * BLOCK)
        return IoOutcome(delay, "", wrong >= 0, wrong)

    def _read_run(self, block: int, count: int, cached: float, *, sequential: bool) -> DeviceAnswer:
        """Read blocks that lie together; of those that may be in memory only what is not."""
        if not cached:
            return self.disk.read(self.lba(block), count * SECTORS_A_BLOCK, sequential=sequential)
        delay, wrong = 0, -1
        place = self.start // SECTORS_A_BLOCK + block
        spoilt = [*self.disk.sectors.bad_in(place, count), *self.disk.sectors.wrong_in(place, count)]
        missing = [spot for spot in sorted(spoilt) if uniform_at(self.disk.key, spot) >= cached]
        for spot in missing[:1]:
            answer = self.disk.read(spot * SECTORS_A_BLOCK, SECTORS_A_BLOCK)
            delay, wrong = answer.delay_ns, answer.wrong_lba
            if answer.failed:
                return answer
        clean = max(1, round(count * (1.0 - cached)))
        if self.disk.outage is not None:
            return self.disk.read(self.lba(block), SECTORS_A_BLOCK)
        return DeviceAnswer(
            delay + self.disk.pass_over(clean * SECTORS_A_BLOCK, sequential=sequential), wrong_lba=wrong
        )

    def write(
        self, file: str, offset: int, size: int, *, comm: str = "", pid: int = 0, direct: bool = False
    ) -> IoOutcome:
        """Write a range of a file, which grows if need be: into memory, or straight to the drive."""
        found = self._files.get(file)
        if found is None or offset + size > found.size_bytes:
            refused = self.allocate(file, max(offset + size, self.size_of(file)))
            if refused:
                return IoOutcome(_CALL_NS, refused)
            found = self._files[file]
        elif self.read_only:
            return IoOutcome(_CALL_NS, "EROFS")
        delay = _CALL_NS + size * SECOND // _MEMORY_BYTES_PER_S
        if size <= 0:
            return IoOutcome(delay)
        found.changed_ns = self.sim.now
        first = offset // BLOCK
        found.dirty.append((first, (offset + size - 1) // BLOCK - first + 1))
        piled = sum(count for _, count in found.dirty) * BLOCK > _MOST_DIRTY_BYTES  # integers
        if direct or piled or len(found.dirty) > _MOST_DIRTY_RANGES:
            wrote = self._write_back(found, comm)
            return IoOutcome(delay + wrote.delay_ns, wrote.error)
        return IoOutcome(delay)

    def fsync(self, file: str, *, comm: str = "", pid: int = 0) -> IoOutcome:
        """Make a file durable: its data, then a commit of the journal, then a flush of the drive's cache."""
        found = self._files.get(file)
        if found is None:
            return IoOutcome(_CALL_NS, "ENOENT")
        if self.aborted:
            return IoOutcome(_CALL_NS, "EROFS" if self.read_only else "EIO")
        if self.read_only:
            return IoOutcome(_CALL_NS)
        data = self._write_back(found, comm)
        if data.error:
            return data
        self._commits += 1
        answer = self.disk.write(self.journal_lba(), 2 * SECTORS_A_BLOCK, sequential=True)
        delay = data.delay_ns + answer.delay_ns
        if not answer.failed:
            answer = self.disk.flush()
            delay += answer.delay_ns
        if answer.failed:
            self.sim.after(delay, self.fail_journal, comm, pid)
            return IoOutcome(delay, "EIO")
        return IoOutcome(delay)

    def journal_lba(self) -> int:
        """Where the journal's next commit goes: it lies in the middle, and runs round."""
        length = 262_144 if self.blocks > 1 << 25 else 32_768
        return self.lba(self.blocks // 2 + self._commits * 2 % length)

    def _write_back(self, found: StoredFile, comm: str) -> IoOutcome:
        delay = 0
        dirty, found.dirty = found.dirty, []
        for first, count in dirty:
            for place, block, length in pieces(found.extents, first, count):
                answer = self.disk.write(self.lba(block), length * SECTORS_A_BLOCK, sequential=length > 32)
                delay += answer.delay_ns
                if answer.failed:
                    self.sim.after(delay, self._lost_write, block, found.inode)
                    return IoOutcome(delay, "EIO", False, place * BLOCK)
        return IoOutcome(delay)

    # One tick.

    def unload(self, owner: str) -> None:
        """The process is gone."""
        self.disk.unload(f"{self.device}/{owner}")

    # Knobs.

    def spoil(self, file: str, offset: int = 0, size: int = BLOCK) -> None:
        """The sectors under a part of a file go bad. Raises ValueError."""
        for block, count in self._runs_of(file, offset, size):
            self.disk.sectors.go_bad(self.lba(block), count * SECTORS_A_BLOCK)

    def corrupt(self, file: str, offset: int = 0, size: int = BLOCK) -> None:
        """The sectors under a part of a file come back wrong. Raises ValueError."""
        for block, count in self._runs_of(file, offset, size):
            self.disk.sectors.corrupt(self.lba(block), count * SECTORS_A_BLOCK)

    def spoil_random(self, file: str, blocks: int, identity: str) -> list[int]:
        """That many drawn blocks of a file go bad; their offsets. Raises ValueError."""
        found = self._drawn(file, blocks, identity)
        for offset in found:
            self.spoil(file, offset)
        return found

    def corrupt_random(self, file: str, blocks: int, identity: str) -> list[int]:
        """That many drawn blocks of a file come back wrong; their offsets. Raises ValueError."""
        found = self._drawn(file, blocks, identity)
        for offset in found:
            self.corrupt(file, offset)
        return found

    def forget_cache(self) -> None:
        """Nothing of it is in memory any more (`echo 3 > /proc/sys/vm/drop_caches`, a reboot)."""
        for found in self._files.values():
            found.known = False

    def _runs_of(self, file: str, offset: int, size: int) -> list[tuple[int, int]]:
        first = offset // BLOCK
        runs = pieces(self.blocks_of(file), first, max(1, -(-size // BLOCK)))
        if not runs or offset < 0:
            raise ValueError(f"{file} has no bytes {offset}..{offset + size - 1}")
        return [(block, count) for _, block, count in runs]

    def _drawn(self, file: str, blocks: int, identity: str) -> list[int]:
        total = sum(count for _, count in self.blocks_of(file))  # integers
        if not 1 <= blocks <= total:
            raise ValueError(f"{file} has {total} blocks, not {blocks}")
        stream = self.sim.stream("blocks", identity, self.disk.host.name, file)
        chosen: dict[int, None] = {}
        while len(chosen) < blocks:
            chosen[stream.integer(0, total - 1) * BLOCK] = None
        return sorted(chosen)

    # Errors.

    def metadata_error(self, text: str) -> None:
        """An error in the file system's own structures: the line, and what `errors=` says."""
        self.error_count += 1
        self.disk.host.kernel(f"EXT4-fs error (device {self.device}): {text}")
        if self.remount_on_error and not self.aborted:
            self.aborted = True
            self.disk.host.kernel(f"Aborting journal on device {self.device}-8.")
            self._make_read_only()

    def fail_journal(self, comm: str = "", pid: int = 0) -> None:
        """A commit of the journal could not be written: it is aborted, and the file system becomes read-only."""
        if self.aborted:
            return
        self.aborted = True
        self.error_count += 1
        kernel = self.disk.host.kernel
        kernel(f"Aborting journal on device {self.device}-8.")
        if not self.disk.present:
            self.disk.log_buffer(self.device, self.blocks // 2, "lost sync page write")
            kernel(f"JBD2: I/O error when updating journal superblock for {self.device}-8.")
        if self.remount_on_error:
            who = comm or f"kworker/u8:{mix(self.disk.key, 5) % 4}"
            kernel(
                f"EXT4-fs error (device {self.device}): ext4_journal_check_start:83: comm {who}: "
                "Detected aborted journal"
            )
            self._make_read_only()

    def remount(self, *, read_only: bool = False) -> str:
        """`mount -o remount`; an error text of mount(8), or ""."""
        if not read_only and (self.aborted or not self.disk.present):
            return f"mount: {self.mount_point}: cannot remount /dev/{self.device} read-write, is write-protected."
        if self.read_only != read_only:
            self.read_only = read_only
            way = "ro" if read_only else "r/w"
            self.disk.host.kernel(f"EXT4-fs ({self.device}): re-mounted {self.uuid} {way}. Quota mode: none.")
        return ""

    def recover(self) -> None:
        """It is mounted anew after its journal failed: the journal is played back."""
        if self.aborted:
            kernel = self.disk.host.kernel
            kernel(f"EXT4-fs ({self.device}): warning: mounting fs with errors, running e2fsck is recommended")
            kernel(f"EXT4-fs ({self.device}): recovery complete")
        self.aborted = False
        self.forget_cache()

    def format(self) -> None:
        """mkfs.ext4: everything stored on it is gone."""
        for found in self._files.values():
            self._free.give_back(found.extents)
        self._files, self._own_blocks = {}, 0
        self.aborted = self.read_only = False
        self.error_count = 0
        self.uuid = uuid_from(self.disk.key, 3)
        disk = self.disk
        disk.partitions = [
            part._replace(uuid=self.uuid, content="ext4") if part.name == self.device else part
            for part in disk.partitions
        ]

    def _make_read_only(self) -> None:
        self.read_only = True
        self.disk.host.kernel(f"EXT4-fs ({self.device}): Remounting filesystem read-only")

    def _lost_write(self, block: int, inode: int) -> None:
        self.disk.log_buffer(self.device, block, "lost async page write")
        self.disk.host.kernel(
            f"EXT4-fs warning (device {self.device}): ext4_end_bio:343: I/O error 10 writing to inode {inode} "
            f"starting block {block})"
        )

    def _replaced(self) -> None:
        """The drive under it is another one, on which there is no file system; only mkfs makes one."""
        self.format()
        self.uuid, self.aborted, self.read_only = "", True, True
        self.disk.partitions = [part._replace(uuid="", content="") for part in self.disk.partitions]

    def _device_lost(self) -> None:
        # The next commit finds out: at the latest when the journal's timer runs.
        self.sim.after(COMMIT_NS, self._commit_lost)

    def _commit_lost(self) -> None:
        if not self.disk.present and not self.read_only:
            self.fail_journal()
