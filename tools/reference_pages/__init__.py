"""The pages of docs/reference/: one module each, each with `page() -> str`."""
