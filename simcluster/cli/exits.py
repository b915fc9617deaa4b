"""Exit statuses, and the exception for a failed check."""

from __future__ import annotations

DONE, FAILED, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130


class CheckFailed(Exception):
    """A check, gate or validation failed: exit status 1."""

    exit_code = FAILED
