"""Machines that go off."""
