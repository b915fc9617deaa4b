"""What stands behind the CSI drivers: the storage system that makes, attaches and mounts volumes.

It works unless it has trouble with some operation of some driver: then the driver answers with a
gRPC status, or not at all until its caller gives up. What callers make of that is theirs: Events
of claims and pods, `attachError` of VolumeAttachments, volumes that stay Released.
Source: gRPC's status codes; the operations of the CSI specification 1.11.
"""

from __future__ import annotations

from typing import NamedTuple

#: The operations that can have trouble, and how long the caller waits for an answer, in seconds:
#: the defaults of --timeout of external-provisioner (10), -attacher (15) and -resizer (10), and the
#: kubelet's csiTimeout (120).
OPERATIONS = {
    "CreateVolume": 10,
    "DeleteVolume": 10,
    "ControllerPublishVolume": 15,
    "ControllerUnpublishVolume": 15,
    "ControllerExpandVolume": 10,
    "NodeStageVolume": 120,
    "NodePublishVolume": 120,
}
#: gRPC's codes that a driver answers with.
CODES = (
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "Unauthenticated",
)
_TIMED_OUT = ("DeadlineExceeded", "context deadline exceeded")


class Trouble(NamedTuple):
    """Why an operation fails.

    Attributes:
        code: of gRPC.
        text: the description.
        waited_s: how long the caller waited for this.
    """

    code: str
    text: str
    waited_s: int = 0

    def __str__(self) -> str:
        """As Go prints the error."""
        return f"rpc error: code = {self.code} desc = {self.text}"


class StorageBackend:
    """The troubles of all drivers.

    Attributes:
        changes: how often a trouble came or went.
    """

    def __init__(self) -> None:
        self._troubles: dict[tuple[str, str], Trouble] = {}
        self.changes = 0

    def fail(self, driver: str, operation: str, code: str, text: str) -> None:
        """An operation of a driver fails from now on. Raises ValueError for what CSI or gRPC do not know."""
        if code not in CODES:
            raise ValueError(f"gRPC has no code {code!r}; it has {', '.join(CODES)}")
        self._set(driver, operation, Trouble(code, text))

    def hang(self, driver: str, operation: str) -> None:
        """An operation of a driver gets no answer from now on. Raises ValueError for what CSI does not know."""
        self._set(driver, operation, Trouble(*_TIMED_OUT, OPERATIONS.get(operation, 0)))

    def repair(self, driver: str) -> None:
        """The driver works again."""
        self._troubles = {key: trouble for key, trouble in self._troubles.items() if key[0] != driver}
        self.changes += 1

    def trouble(self, driver: str, operation: str) -> Trouble | None:
        """What stands against an operation now; None if nothing does."""
        return self._troubles.get((driver, operation))

    def _set(self, driver: str, operation: str, trouble: Trouble) -> None:
        if operation not in OPERATIONS:
            raise ValueError(f"CSI has no operation {operation!r}; there are {', '.join(OPERATIONS)}")
        self._troubles[driver, operation] = trouble
        self.changes += 1
