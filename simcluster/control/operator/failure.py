"""Why a reconcile did not come to its end."""

from __future__ import annotations


class ReconcileError(Exception):
    """The reconcile failed; the key comes back with back-off and the text goes to the log."""


class Requeue(ReconcileError):
    """Nothing is wrong, but there is something to wait for: the key comes back with back-off."""


class ConfigurationError(Exception):
    """The process cannot work as it was started; it says so and exits."""
