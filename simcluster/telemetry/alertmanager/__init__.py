"""Alertmanager: routes, grouping, silences, inhibition, and its API v2.

Plain values that somebody outside drives by the clock; nothing here schedules or sends.
"""
