"""Programs of the cluster itself, by the `logic` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.system.collector import CollectorProgram
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.apps.system.jaeger import JaegerProgram

PROGRAMS = {"collector": CollectorProgram, "daemon": DaemonProgram, "jaeger": JaegerProgram}
