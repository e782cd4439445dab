"""`dyno digest`: statements of logs and servers, and workloads made of logs."""
