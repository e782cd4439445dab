"""Places of values in statements, and generators for them."""
