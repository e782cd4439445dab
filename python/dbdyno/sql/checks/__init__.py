"""What check constraints ask of rows, and whether rows with known values meet them."""
