"""Names that are not resolved."""
