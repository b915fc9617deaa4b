"""Logs as Loki keeps and answers them: streams of lines, LogQL over them, and Loki's HTTP API.

`http.handle` answers requests over any `storage.LogSource`; `store.LogStore` is one.
"""
