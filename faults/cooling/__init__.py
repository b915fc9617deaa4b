"""Machines that become too hot."""
