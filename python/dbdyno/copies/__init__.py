"""A copy of a server's schema for a throw-away server: rows made from statistics, or sampled.

`write.write_copy` is the way in. `source` is the session that everything is read in, `schema` its
tables and their SQL, `statistics` what is measured of their rows, `synthesis` makes declared tables
(`setup.tables`) of that, `sampling` copies rows with those that they refer to.
"""
