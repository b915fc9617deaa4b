"""Statements of SQL over small tables, for every server that reads them."""
