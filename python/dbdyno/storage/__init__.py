"""Volumes of servers: disks whose power can be cut, each tried before it is believed."""
