"""What is asked of PostgreSQL's roles, its pg_hba.conf as the server reads it, and what PUBLIC may
do. No hash leaves the server: its kind is computed there."""

from __future__ import annotations

from dbdyno.facts.servers.query import Query

QUERIES = (
    Query(
        "roles",
        "SELECT rolname, rolsuper, rolcanlogin, rolcreaterole, rolbypassrls FROM pg_roles",
        ("postgres >=9.5",),
    ),
    Query(
        "role_hashes",
        "SELECT rolname, CASE WHEN rolpassword IS NULL THEN 'none' WHEN rolpassword LIKE 'md5%'"
        " THEN 'md5' WHEN rolpassword LIKE 'SCRAM-SHA-256$%' THEN 'scram-sha-256' ELSE 'other' END,"
        " COALESCE(length(rolpassword), 0) FROM pg_authid WHERE rolcanlogin",
        ("postgres",),
    ),
    Query(
        "hba",
        "SELECT line_number, type, array_to_string(database, ','), array_to_string(user_name, ','),"
        " address, netmask, auth_method, error FROM pg_hba_file_rules",
        ("postgres >=10",),
    ),
    Query(
        "public_schemas",
        "SELECT nspname, has_schema_privilege('public', oid, 'CREATE') FROM pg_namespace"
        " WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'",
        ("postgres >=9.0",),
    ),
    Query(
        "members",
        "SELECT r.rolname, m.rolname FROM pg_auth_members a JOIN pg_roles r ON r.oid = a.roleid"
        " JOIN pg_roles m ON m.oid = a.member WHERE r.rolname IN ('pg_execute_server_program',"
        " 'pg_read_server_files', 'pg_write_server_files')",
        ("postgres >=11",),
    ),
    Query(
        "definer_functions",
        "SELECT n.nspname, p.proname, r.rolname FROM pg_proc p JOIN pg_namespace n ON n.oid ="
        " p.pronamespace JOIN pg_roles r ON r.oid = p.proowner WHERE p.prosecdef AND r.rolsuper AND"
        " n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT 1 FROM"
        " unnest(p.proconfig) AS c WHERE c LIKE 'search_path=%')",
        ("postgres >=9.0",),
    ),
)
NAMES = {
    "roles": ("role", "superuser", "can_login", "create_role", "bypass_rls"),
    "role_hashes": ("role", "hash_kind", "hash_length"),
    "hba": ("line", "type", "databases", "users", "address", "netmask", "method", "error"),
    "public_schemas": ("schema", "public_creates"),
    "members": ("role", "member"),
    "definer_functions": ("schema", "function", "owner"),
}
