"""One file a family of pages."""
