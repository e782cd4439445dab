"""`dyno lab`: servers to work with by hand."""
