"""A throw-away certificate authority and server certificate, so that a managed server offers TLS.

Every server that we start offers it alike, whatever its kind does by default. `tls: prefer` on
loopback means plain: the server is managed and no other process can listen, and encrypting only for
the systems that happen to come with a certificate would compare TLS and not databases.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dbdyno.systems.process.account import Account, private_file

LIFETIME_DAYS = 30


@dataclass
class Certificate:
    """PEM texts; `ca_path` is known once it is written."""

    ca: str
    cert: str
    key: str
    ca_path: Path | None = None

    @staticmethod
    def make() -> Certificate:
        """A new authority, and a certificate of it for 127.0.0.1, ::1 and localhost."""
        ca_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        ca_name, name = (
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
            for text in ("dbdyno throw-away authority", "localhost")
        )
        now = datetime.datetime.now(datetime.UTC)
        span = (now - datetime.timedelta(days=1), now + datetime.timedelta(days=LIFETIME_DAYS))
        ca = (
            x509.CertificateBuilder(issuer_name=ca_name, subject_name=ca_name)
            .public_key(ca_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(span[0])
            .not_valid_after(span[1])
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(ca_key, hashes.SHA256())
        )
        places = [
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.IPAddress(ipaddress.ip_address("::1")),
            x509.DNSName("localhost"),
        ]
        cert = (
            x509.CertificateBuilder(issuer_name=ca_name, subject_name=name)
            .public_key(server_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(span[0])
            .not_valid_after(span[1])
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(places), critical=False)
            .sign(ca_key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        key = server_key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Certificate(
            ca.public_bytes(pem).decode(), cert.public_bytes(pem).decode(), key.decode()
        )

    def write(self, directory: Path, account: Account) -> dict[str, Path]:
        """Writes the three files, private to the account; the authority's key is not kept."""
        paths = {
            "ca": private_file(directory / "ca.pem", self.ca, account),
            "cert": private_file(directory / "cert.pem", self.cert, account),
            "key": private_file(directory / "key.pem", self.key, account),
        }
        self.ca_path = paths["ca"]
        return paths

    def engine_tls(self, word: str) -> str | dict[str, str]:
        """The `tls` of an engine target for a server with this certificate."""
        if word.startswith("ca:"):
            return {"ca": word.removeprefix("ca:")}
        if word == "verify" and self.ca_path is not None:
            return {"ca": str(self.ca_path)}
        return "require" if word == "require" else "off"
