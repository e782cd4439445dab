"""What is never collected: passwords, keys, and whatever looks like one.

Whether a secret is set is a fact: its value becomes `(hidden)`, an empty one stays
empty. The filter works on names, and on values that hold an address with a password in it.
"""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "(hidden)"
_SECRET = re.compile(
    r"passw(or)?d|passphrase|(^|_)pass(_|$)|pwd|secret|credential|conninfo|masterauth|requirepass"
    r"|authentication_string|auth_string|(^|[_.])(token|api_?key|private_?key|auth)$"
    r"|encryption_key$|filekey$|^(init_connect|init_slave|init_replica)$|rename_command"
    r"|^(archive|restore|recovery_end|archive_cleanup|ssl_passphrase)_command$"
)
# Rules about passwords, which hold none.
_POLICY = re.compile(
    r"validate_password|simple_password|cracklib_password|password_(lifetime|history|reuse\w*"
    r"|require\w*|encryption|errors\w*|expired)|default_password_lifetime|(old|expired)_passwords?"
    r"|disconnect_on_expired|strict_password|secure_auth|(native|sha2?5?6?|cleartext)_password"
    r"|sha256_password\w*|caching_sha2_password\w*|random_password_length|max_password_errors"
    r"|password_reuse_check|default_authentication"
)
_IN_VALUE = re.compile(r"://[^\s/@]*:[^\s/@]+@|\b(password|passwd|pwd|secret|token)\s*=", re.I)


def looks_secret(name: str) -> bool:
    """Whether values of a setting of this name are not to be collected."""
    low = name.lower().replace("-", "_")
    return bool(_SECRET.search(low)) and not _POLICY.search(low)


def told(name: str, value: Any) -> Any:
    """The value, or that it is hidden."""
    if value in (None, ""):
        return value
    if looks_secret(name) or (isinstance(value, str) and _IN_VALUE.search(value)):
        return HIDDEN
    return value
