"""What the platform team's programs are, by the names in their behaviour."""

from __future__ import annotations

from simcluster.apps.platform_tools.cleanup import CleanupController
from simcluster.apps.platform_tools.edge import EdgeProbeProgram
from simcluster.apps.platform_tools.holder import ConnectionHolder
from simcluster.apps.platform_tools.orders import OrderStreamProgram, OrdersValidatorProgram
from simcluster.apps.platform_tools.producer import OrderCreatorProgram

OPERATORS = {"cleanup-controller": CleanupController}
PROGRAMS = {
    "connection-holder": ConnectionHolder,
    "edge-probe": EdgeProbeProgram,
    "order-creator": OrderCreatorProgram,
    "order-stream": OrderStreamProgram,
    "orders-validator": OrdersValidatorProgram,
}
