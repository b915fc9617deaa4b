"""What the five services do besides serving."""

from __future__ import annotations

from simcluster.apps.srezero.balancer import BalancerProgram
from simcluster.apps.srezero.cache import CacheProgram
from simcluster.apps.srezero.database import DatabaseProgram
from simcluster.apps.srezero.queue import QueueProgram
from simcluster.apps.srezero.web import WebProgram

PROGRAMS = {
    "srezero-load-balancer": BalancerProgram,
    "srezero-web-server": WebProgram,
    "srezero-database": DatabaseProgram,
    "srezero-cache": CacheProgram,
    "srezero-message-queue": QueueProgram,
}
