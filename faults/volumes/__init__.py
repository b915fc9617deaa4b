"""Claims and volumes that pods cannot use."""
