"""Processes of managed servers: started through a guardian, owned, and gone when dyno is gone."""
