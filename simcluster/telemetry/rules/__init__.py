"""Recording and alerting rules: rule files, their evaluation, templates, pending and firing alerts.

States are plain values that somebody outside drives by the clock; nothing here schedules.
"""
