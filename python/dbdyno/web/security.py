"""Who may ask, and for what: checked before any page is.

- `Host` must be an address, localhost or this machine's name: a page of a stranger whose name is
  made to point here (DNS rebinding) has another one.
- A token is asked for, once in the address, then in a cookie that scripts cannot read and other
  sites do not send; programs send `Authorization: Bearer TOKEN`.
- What changes something is a POST, with the `Origin` of this server and a second token that only
  our own pages know (CSRF).
- What is answered may load, send and run only what is our own (Content-Security-Policy).
Sources: RFC 6265bis (SameSite), OWASP's CSRF prevention, W3C CSP 3.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_MIN = 16  # characters of a token that a user chooses
OPEN = "/static/"  # our own style and scripts, which are public
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'"
    " 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # no-referrer would make the Origin of our forms `null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOGIN = (
    "This is dyno serve. Open the address that it printed when it was started: it ends with the"
    " token.\n"
)


@dataclass(frozen=True)
class Access:
    """Secrets of one server. `cookie` is named after the port, since cookies are shared by all
    ports of a host."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        return f"dbdyno-{self.port}"

    @property
    def csrf(self) -> str:
        """What our own forms send along."""
        return hmac.new(self._session.encode(), b"csrf", hashlib.sha256).hexdigest()

    def knows(self, request: Request) -> bool:
        """Whether a request brings the token or the cookie."""
        return _same(request.cookies.get(self.cookie), self._session) or self.bears(request)

    def bears(self, request: Request) -> bool:
        """Whether a request brings the token in its head, as programs do: no other site can."""
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _same(value.strip(), self.token)

    def is_ours(self, request: Request, form: Mapping[str, object]) -> bool:
        """Whether a POST comes from our own page, or from a program with the token."""
        given = request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD)
        return self.bears(request) or (isinstance(given, str) and _same(given, self.csrf))

    def entered(self, request: Request) -> Response | None:
        """Answers an address that has the token in it: with the cookie, and the address without;
        None if it has none, or a wrong one."""
        if request.method != "GET" or not _same(request.query_params.get("token"), self.token):
            return None
        rest = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
        path = request.url.path
        # `//host` would be another site's address.
        place = f"/{path.lstrip('/')}{'?' + urlencode(rest) if rest else ''}"
        response = RedirectResponse(place, status_code=303)
        response.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", path="/")
        return response


class Guard:
    """The outermost application: asks the above of each request, and adds our headers to each
    answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here is a websocket

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        request = Request(scope)
        await (self._refusal(request) or self._app)(scope, receive, sending)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not is_own_host(host):
            return PlainTextResponse("Another host's name: use an address or localhost.\n", 421)
        if request.method not in ("GET", "HEAD") and not _is_own_origin(request.headers, host):
            return PlainTextResponse("This came from another site.\n", 403)
        if request.url.path.startswith(OPEN):
            return None
        if entered := self._access.entered(request):
            return entered
        if not self._access.knows(request):
            return PlainTextResponse(LOGIN, 401)
        return None


def is_own_host(host: str) -> bool:
    """Whether a `Host` is no name that a stranger can point here: any address, localhost, this
    machine's names. Its port is whatever a tunnel made of it."""
    name = host.strip().lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") <= 1:
        name = name.partition(":")[0]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        return name in ("localhost", own, own.partition(".")[0])
    return True


def _is_own_origin(headers: Headers, host: str) -> bool:
    """A browser says where a POST comes from; a program sends none, and must bring the token."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    if origin is None:
        return site in ("same-origin", "none")
    return origin.lower() == f"http://{host.lower()}" and site in ("same-origin", "none")


def _same(given: str | None, secret: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), secret.encode())
