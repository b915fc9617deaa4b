"""Objects of the API that somebody made, changed or deleted."""
