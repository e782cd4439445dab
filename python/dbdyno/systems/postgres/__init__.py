"""PostgreSQL: managed and external servers."""
