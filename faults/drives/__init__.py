"""Drives that fail in part: sectors that are lost or lie, answers that take far too long."""
