"""What Blueprint's Hotel Reservation brings besides its files."""

from __future__ import annotations

from simcluster.apps.blueprint_hotel_reservation.service import BlueprintProgram

PROGRAMS = {"blueprint": BlueprintProgram}
