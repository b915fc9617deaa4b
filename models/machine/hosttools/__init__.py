"""Programs of a node's host, one file for each family; `table` lists them."""
