"""What is kept of what happened: metric families, series, log lines, spans, alerts.

Stores and forms only. Nothing here knows a world: exporters in the other rooms hand in what they measure.
"""
