"""What clients and servers say of a failure in a span."""

from __future__ import annotations

import re

from simcluster.models.apps.wording import describe
from simcluster.models.traffic.exemplars.spans import Finished

_CODE = re.compile(r"code = (\w+)")
#: Numbers of gRPC's status codes.
NUMBERS = {
    name: number
    for number, name in enumerate(
        (
            "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
            "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented",
            "Internal", "Unavailable", "DataLoss", "Unauthenticated",
        )
    )
}  # fmt: skip


def error_of(span: Finished) -> str:
    """The error as the side of the span has it: "" if there is none.

    A server whose own work failed says what its description says; one whose call failed passes on what it was told.
    """
    cause = span.cause
    if cause is None:
        return ""
    if not cause.path:
        return cause.text or "internal error"
    if span.call is not None:
        return describe(cause)
    return cause.path[0].answer.replace("{cause}", describe(cause))


def code_of(span: Finished) -> str:
    """Name of the gRPC status of a failed span: what an error without one becomes is `Unknown`.

    >>> from simcluster.models.traffic.exemplars.spans import Context
    >>> code_of(Finished(Context(1), 0, 0, 1, None, None))
    'OK'
    """
    if span.cause is None:
        return "OK"
    found = _CODE.search(error_of(span))
    return found[1] if found is not None and found[1] in NUMBERS else "Unknown"
