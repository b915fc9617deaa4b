"""Limits of a namespace that its pods do not keep."""
