"""What FleetCast brings besides its files: the back end, which finds its database by itself and works by the clock."""

from __future__ import annotations

from simcluster.apps.fleetcast.backend import SatelliteProgram

PROGRAMS = {"satellite-backend": SatelliteProgram}
