"""Tables and statement classes among the facts, as the plain data of `dbdyno.sql`."""
