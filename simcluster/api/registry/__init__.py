"""What create, update and delete mean: generic rules, and a strategy for each kind that has its own."""
