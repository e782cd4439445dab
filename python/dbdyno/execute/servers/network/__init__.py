"""Networks between the load and managed servers: relays, each measured before it is believed."""
