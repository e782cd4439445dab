"""What a server's schema says of the values that a log's workload makes.

`reading` asks information_schema, `catalog` is what it says, `values` makes generators of it,
`handing` hands on keys that the server made, `findings` says what of a workload will fail or match
no row.
"""
