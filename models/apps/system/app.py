"""Programs of the cluster itself, by the `logic` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.system.collector import CollectorProgram
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.apps.system.jaeger import JaegerProgram
from simcluster.models.apps.system.storeexporter import StoreExporterProgram

PROGRAMS = {
    "collector": CollectorProgram,
    "daemon": DaemonProgram,
    "jaeger": JaegerProgram,
    "storeexporter": StoreExporterProgram,
}
