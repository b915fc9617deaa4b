"""The suite. `clusters/` has what tests are made on; everything else mirrors the rooms."""
