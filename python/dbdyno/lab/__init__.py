"""Labs: servers to work with by hand, started as those of a trial are, each lab under an owner.

`wanted` makes a target of what was asked; `starting` starts the process that owns a lab (`owner`).
That holds the servers (`servers`) and answers `dyno lab` on a socket (`listening`, `status`).
`registry` finds labs, `asking` talks to their owners, `nodes` finds which node a word means, and
`clients` knows how clients log in.
"""
