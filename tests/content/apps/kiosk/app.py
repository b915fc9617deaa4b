"""What runs in the kiosk's containers."""

from simcluster.models.apps.server import ServerProgram

PROGRAMS = {"kiosk": ServerProgram}
