"""Accounts that may not do what their programs need."""
