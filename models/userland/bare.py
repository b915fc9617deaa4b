"""A place with files and the common tools, and nothing else: what the desk is built on."""

from __future__ import annotations

from simcluster.models.userland.face import Face
from simcluster.models.userland.memory import MemoryFiles
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call, Who
from simcluster.models.userland.table import GNU_ONLY, TOOLS

#: Folders of programs in the order of PATH, and the programs that lie elsewhere than in /usr/bin.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHELLS = {"bash": ("bash", "sh"), "dash": ("bash", "sh", "dash"), "ash": ("sh", "ash")}


ROOT = Who()


class BarePlace:
    """A place (`place.Place`) whose programs are those of the table.

    Args:
        more: names of further programs, run by `program`.
        without: tools of the table that are not installed.
    """

    def __init__(
        self,
        face: Face,
        files: MemoryFiles,
        host: str = "localhost",
        *,
        who: Who = ROOT,
        more: tuple[str, ...] = (),
        without: tuple[str, ...] = (),
    ) -> None:
        self.face = face
        self.host = host
        self.who = who
        self._files = files
        self.more = more
        self.without = without
        self.drawn = 0

    @property
    def files(self) -> MemoryFiles:
        """Its files."""
        return self._files

    def program(self, call: Call) -> Outcome | None:
        """It has no programs of its own."""
        return None

    def own(self, call: Call) -> Outcome | None:
        """Nor others than the common ones."""
        return None

    def located(self, name: str) -> str:
        """Path of a program of the table."""
        return located(self.face, name, self.more, self.without)

    def draw(self) -> int:
        """Random bits."""
        self.drawn += 1
        return (self.drawn * 0x9E3779B97F4A7C15 + 0x7F4A7C15) % (1 << 64)

    def fork(self) -> str:
        """There is room for processes."""
        return ""

    def reap(self, count: int) -> None:
        """Processes are gone."""

    def offset_ns(self) -> int:
        """Its clock is right."""
        return 0

    def limits(self) -> str:
        """Those of a login shell; of others nothing is known."""
        rows = (("Max open files", "1024", "1048576"), ("Max stack size", "8388608", "unlimited"))
        return "".join(f"{name:<26}{soft:<21}{hard:<21}\n" for name, soft, hard in rows)

    def limited(self, letter: str, value: str, *, raised: bool, lasts: bool) -> bool:
        """Nobody is refused."""
        return False


def located(face: Face, name: str, more: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> str:
    """Path of a program; empty if there is none of this name."""
    base = name.rpartition("/")[2]
    known = (
        (base in more and base not in without)
        or base in _SHELLS[face.shell]
        or (base in TOOLS and base not in without and (face.gnu or base not in GNU_ONLY))
    )
    if not known or (
        "/" in name
        and name
        not in (f"/bin/{base}", f"/usr/bin/{base}", f"/usr/local/bin/{base}", f"/sbin/{base}", f"/usr/sbin/{base}")
    ):
        return ""
    return f"/usr/bin/{base}" if face.gnu else f"/bin/{base}"
