"""The word `tls` for control connections and for the engine, for external servers."""

from __future__ import annotations

import ssl

from dbdyno.errors import DynoError


def context(word: str) -> ssl.SSLContext:
    """A context for `verify`, `ca:FILE` or `require`; DynoError if the file is none."""
    path = word.removeprefix("ca:") if word.startswith("ca:") else None
    try:
        made = ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        raise DynoError(
            f"`tls: {word}`: {path} is not a file of certificates: {error}",
            fix="name a PEM file with the authority's certificate",
        ) from None
    # Authorities of cloud providers and old tools omit fields that this flag asks for.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if word == "require":
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


def engine_tls(word: str) -> str | dict[str, str]:
    """The `tls` of an engine target."""
    return {"ca": word.removeprefix("ca:")} if word.startswith("ca:") else word


def default_authorities() -> str:
    """The file of the authorities that this machine trusts."""
    return ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
