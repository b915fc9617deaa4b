"""Programs of the userland, by family; `userland.table` lists them."""
