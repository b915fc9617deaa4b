"""Lines of the C++ programs: Boost.Log's format, and what the pool of clients prints where nobody was reached."""

from __future__ import annotations

from simcluster.models.apps.logs import Wording
from simcluster.models.apps.marks import Spoken, boost_time
from simcluster.models.apps.nativewording import UNREACHED
from simcluster.models.traffic.cluster.operations import THRIFT, LogTemplate


def line(t_ns: int, level: str, where: str, message: str) -> str:
    """One line; `where` is file, line and function.

    >>> line(0, "info", "UserService.cpp:114:main", "Starting the user-service server ...")
    '[2026-Mar-02 09:00:00.000000] <info>: (UserService.cpp:114:main) Starting the user-service server ...'
    """
    return f"[{boost_time(t_ns)}] <{level}>: ({where}) {message}"


class SocialWording(Wording):
    """A call that reached nobody fails in `ClientPool::Pop`, before the handler has anything to say of it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Wording], tuple[str]]:
        return (SocialWording, (self.pod,))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """What stands in the log."""
        cause = spoken.cause
        if cause is not None and len(cause.path) == 1 and cause.kind in UNREACHED and cause.path[0].client in THRIFT:
            return line(spoken.t_ns, "error", "ClientPool.h:111:Pop", f"Failed to connect {cause.path[0].env}-client")
        return super().text(template, spoken)
