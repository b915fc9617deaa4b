"""When Python looks for cycles of objects that nobody needs any more; of the process, not of a world.

A world makes very many objects that live long and hardly any cycles, so that while its clock runs the
collector finds nothing, and looking cost a sixth of the time. What a long run has made is therefore taken
for old without a look. What does leave cycles behind is a world that nobody holds any more: where several
were made, everything is looked at once so much has been made that it may be worth it.
"""

from __future__ import annotations

import gc
from typing import ClassVar

#: While the clock runs: young objects before a look at them, and looks before one at older ones.
_RUNNING = (1_000_000, 50, 100)
#: A run that has left fewer objects is left to the collector.
_MANY = 5_000
#: Objects that were not looked at before a look at everything: where worlds come and go, and for one alone.
_MOST, _MOST_ALONE = 1_000_000, 10_000_000


class Collector:
    """What has been made since everything was looked at.

    Attributes:
        worlds: made or restored.
        unseen: objects of theirs that were taken for old.
    """

    worlds: ClassVar[int] = 0
    unseen: ClassVar[int] = 0

    @classmethod
    def world_made(cls) -> None:
        """There is one more world."""
        cls.worlds += 1

    @classmethod
    def relax(cls) -> tuple[int, int, int]:
        """A clock begins to run; returns what `resume` wants."""
        before = gc.get_threshold()
        gc.set_threshold(*_RUNNING)
        return before

    @classmethod
    def resume(cls, before: tuple[int, int, int]) -> None:
        """The clock stands still again."""
        made = gc.get_count()[0]
        if gc.isenabled() and made >= _MANY:
            gc.freeze()
            gc.unfreeze()
            cls.unseen += made
            if cls.unseen > (_MOST if cls.worlds > 1 else _MOST_ALONE):
                cls.worlds, cls.unseen = 1, 0
                gc.collect()
        gc.set_threshold(*before)
