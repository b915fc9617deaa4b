"""What Hotel Reservation brings besides its files."""

from __future__ import annotations

from simcluster.apps.hotel_reservation.consul import ConsulProgram
from simcluster.apps.hotel_reservation.service import HotelProgram

PROGRAMS = {"consul": ConsulProgram, "hotel-reservation": HotelProgram}
