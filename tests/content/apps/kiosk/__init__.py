"""A kiosk: one service, for tests of what surrounds an incident."""
