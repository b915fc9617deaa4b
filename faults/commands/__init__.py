"""Commands that somebody ran where they did harm."""
