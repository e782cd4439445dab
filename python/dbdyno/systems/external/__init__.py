"""External servers: which one a URL names, who we are there, what is asked of it."""
