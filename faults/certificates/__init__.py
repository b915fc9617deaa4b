"""Certificates that are out of date."""
