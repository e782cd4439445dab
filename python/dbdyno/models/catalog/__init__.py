"""One file a model; `wiredtiger_cache.py` is the model `wiredtiger-cache`."""
