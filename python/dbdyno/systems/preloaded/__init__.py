"""Libraries that are preloaded into servers: what is known of them, and how several go together."""
