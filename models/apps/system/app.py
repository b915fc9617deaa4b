"""Programs of the cluster itself, by the `logic` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.system.daemon import DaemonProgram

PROGRAMS = {"daemon": DaemonProgram}
