"""Files that may be anybody's: whole or absent, of known shape, without secrets."""
