"""ControllerRevisions: the history of a StatefulSet's or DaemonSet's pod template."""

from simcluster.control.history.revisions import (
    CONTROLLER_REVISIONS,
    HASH,
    RevisionHistory,
    data_hash,
    revision_data,
    revision_patch,
    template_of,
)

__all__ = [
    "CONTROLLER_REVISIONS",
    "HASH",
    "RevisionHistory",
    "data_hash",
    "revision_data",
    "revision_patch",
    "template_of",
]
