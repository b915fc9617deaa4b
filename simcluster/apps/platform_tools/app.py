"""What the platform team's programs are, by the names in their behaviour."""

from __future__ import annotations

from simcluster.apps.platform_tools.cleanup import CleanupController
from simcluster.apps.platform_tools.holder import ConnectionHolder
from simcluster.apps.platform_tools.producer import OrderCreatorProgram

OPERATORS = {"cleanup-controller": CleanupController}
PROGRAMS = {"connection-holder": ConnectionHolder, "order-creator": OrderCreatorProgram}
