"""Redis: started by dbdyno, or reached by its URL."""
