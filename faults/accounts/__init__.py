"""Users of stores, and what they may do."""
