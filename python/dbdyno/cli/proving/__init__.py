"""`dyno prove`: candidates against today on a throw-away server."""
