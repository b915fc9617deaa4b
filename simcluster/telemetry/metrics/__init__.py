"""Metrics as Prometheus has them: forms of families, samples of a scrape, and the store of all that was scraped.

An exporter hands over groups: a fixed form (`Columns`: which series, of which families), the labels that all series
of the group share, and a row of numbers. Text is made only when somebody looks at an endpoint. The store keeps rows
in columns, in sealed blocks that forks share, and works out labels of series when it is asked for them.
"""
