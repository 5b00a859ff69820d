"""A remote client's way in, hop by hop, at the public address: from the 401 to a tool call with a token."""

import base64
import hashlib
import ipaddress
import re
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import truststore

from passageway_cli.doctor.finding import Finding, failed, ok, skipped, warning
from passageway_cli.rpc import headers_for, result_of, tool_call

TIMEOUT_S = 10
"""What claude.ai waits for discovery, registration and tokens."""

REDIRECT = "http://127.0.0.1/callback"
"""Where an app on this computer would wait; nothing is ever sent there."""

_WHOLE = "have the proxy pass everything below / on to the server, with its method, body and path unchanged"
_RESTART = "restart the server with this PASSAGEWAY_BASE_URL"


class Broken(Exception):
    """A hop that leads nowhere: what was `seen` there, and the `advice`."""

    def __init__(self, seen: str, advice: str) -> None:
        super().__init__(seen)
        self.seen = seen
        self.advice = advice


def sign_in(base_url: str, password: str | None) -> Iterator[Finding]:
    """A finding a hop, the first failure last of those that were tried. Signs in as an app and revokes that again."""
    if not password:
        yield skipped("sign-in", "there is no password to sign in with")
        return
    # A new client each time: the cookies of one sign-in are no business of the next.
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with httpx.Client(verify=context, timeout=TIMEOUT_S, headers={"User-Agent": "passageway-doctor"}) as http:
        yield from SignIn(base_url, password, http).findings()


class SignIn:
    """One walk. Each hop says what it saw or raises Broken, and leaves what the next one needs."""

    def __init__(self, base_url: str, password: str, http: httpx.Client) -> None:
        self._base_url = base_url
        self._password = password
        self._http = http
        self._verifier = secrets.token_urlsafe(48)
        self._state = secrets.token_urlsafe(12)
        self._metadata_url = ""
        self._server: dict[str, Any] = {}
        self._client_id = ""
        self._page = httpx.Response(204)
        self._code = ""
        self._tokens: dict[str, Any] = {}

    def findings(self) -> Iterator[Finding]:
        """What each hop gave, in their order."""
        yield from reachable_from_elsewhere(self._base_url)
        hops: tuple[tuple[str, Callable[[], str]], ...] = (
            ("refusal", self.refusal),
            ("resource metadata", self.resource_metadata),
            ("server metadata", self.server_metadata),
            ("registration", self.registration),
            ("consent page", self.consent_page),
            ("login", self.login),
            ("token", self.token),
            ("tool call", self.tool_call),
            ("refresh", self.refresh),
            ("revocation", self.revocation),
        )
        for number, (name, hop) in enumerate(hops):
            try:
                yield ok(f"sign-in: {name}", hop())
            except Broken as broken:
                yield failed(f"sign-in: {name}", broken.seen, broken.advice)
                rest = ", ".join(later for later, _ in hops[number + 1 :])
                if rest:
                    yield skipped("sign-in", f"not reached: {rest}")
                self._leave_nothing()
                return

    def refusal(self) -> str:
        """401 without a token, saying where to read on."""
        call = tool_call("status")
        reply = self._ask("POST", f"{self._base_url}/mcp", json=call, headers=headers_for(call))
        if reply.status_code != 401:
            raise _odd(reply, "401")
        challenge = reply.headers.get("www-authenticate", "")
        named = re.search(r'resource_metadata="([^"]+)"', challenge)
        if named is None:
            raise Broken(f"the 401 names no resource metadata: {challenge!r}", _RESTART)
        self._metadata_url = named[1]
        return f"401, {named[1]}"

    def resource_metadata(self) -> str:
        """RFC 9728: the resource as clients know it, and one authorization server."""
        self._same_host(self._metadata_url, "the resource metadata")
        document = self._document(self._metadata_url)
        expected = f"{self._base_url}/mcp"
        if document.get("resource") != expected:
            raise Broken(f"the resource is {document.get('resource')!r}, expected {expected!r}", _RESTART)
        servers = document.get("authorization_servers")
        if servers != [self._base_url]:
            raise Broken(f"the authorization servers are {servers!r}, expected {[self._base_url]!r}", _RESTART)
        return expected

    def server_metadata(self) -> str:
        """RFC 8414: all endpoints at the public address."""
        document = self._document(f"{self._base_url}/.well-known/oauth-authorization-server")
        if document.get("issuer") != self._base_url:
            raise Broken(f"the issuer is {document.get('issuer')!r}, expected {self._base_url!r}", _RESTART)
        for name in ("authorization", "token", "registration", "revocation"):
            self._same_host(str(document.get(f"{name}_endpoint")), f"the {name} endpoint")
        self._server = document
        return f"issuer {self._base_url}"

    def registration(self) -> str:
        """RFC 7591: a client id of our own."""
        reply = self._ask(
            "POST",
            self._server["registration_endpoint"],
            json={
                "client_name": "passageway doctor",
                "redirect_uris": [REDIRECT],
                "token_endpoint_auth_method": "none",
            },
        )
        if reply.status_code != 201:
            raise _odd(reply, "201")
        self._client_id = str(_json(reply).get("client_id", ""))
        return "registered as an app"

    def consent_page(self) -> str:
        """The page where a person would read who asks."""
        challenge = hashlib.sha256(self._verifier.encode("ascii")).digest()
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": REDIRECT,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode("ascii").rstrip("="),
            "code_challenge_method": "S256",
            "state": self._state,
            "resource": f"{self._base_url}/mcp",
        }
        self._page = self._ask("GET", self._server["authorization_endpoint"], params=asked)
        if self._page.status_code != 200:
            raise _odd(self._page, "the page")
        if 'name="password"' not in self._page.text:
            raise Broken("the page has no form for the password", _WHOLE)
        return "asks for the password"

    def login(self) -> str:
        """The form, sent as a browser sends it."""
        form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', self._page.text))
        address = f"{self._base_url}/login"
        reply = self._ask("POST", address, data={**form, "password": self._password, "action": "allow"})
        if reply.status_code == 401:
            raise Broken("the password is refused", "set the password here that the server has, or restart the server")
        if reply.status_code == 403:
            raise Broken("the form came without its cookie", "have the proxy pass cookies on, and https as https")
        if reply.status_code != 302:
            raise _odd(reply, "302")
        target = reply.headers.get("location", "")
        answer = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        if answer.get("state") != self._state or answer.get("iss") != self._base_url or "code" not in answer:
            raise Broken(f"the way back to the app lacks {_missing(answer)}", _RESTART)
        self._code = answer["code"]
        return "a code for the app"

    def token(self) -> str:
        """The code for tokens."""
        form = {
            "grant_type": "authorization_code",
            "code": self._code,
            "redirect_uri": REDIRECT,
            "code_verifier": self._verifier,
        }
        return self._take_tokens(form)

    def tool_call(self) -> str:
        """`status`, as a client calls it."""
        reply = self._call()
        if reply.status_code == 401:
            raise Broken("the new token is refused", "have the proxy pass the Authorization header on")
        if reply.status_code != 200:
            raise _odd(reply, "200")
        result = result_of(reply)
        if result is None:
            raise Broken(f"no result in {reply.text[:200]!r}", "have the proxy pass event streams on as they are")
        return "status answers"

    def refresh(self) -> str:
        """New tokens for the refresh token, as a client takes every hour."""
        return self._take_tokens({"grant_type": "refresh_token", "refresh_token": self._tokens["refresh_token"]})

    def revocation(self) -> str:
        """The end of the grant, so that no app is left behind in the list."""
        reply = self._revoke()
        if reply.status_code != 200:
            raise _odd(reply, "200")
        if self._call().status_code != 401:
            raise Broken("a revoked token still opens /mcp", "do not cache answers of /mcp in the proxy")
        return "the app is gone again"

    def _take_tokens(self, form: dict[str, str]) -> str:
        about = {"client_id": self._client_id, "resource": f"{self._base_url}/mcp"}
        reply = self._ask("POST", self._server["token_endpoint"], data={**form, **about})
        if reply.status_code != 200:
            raise _odd(reply, "200")
        tokens = _json(reply)
        if not tokens.get("access_token") or not tokens.get("refresh_token"):
            raise Broken("the answer lacks a token", _WHOLE)
        self._tokens = tokens
        return f"good for {tokens.get('expires_in')} s"

    def _call(self) -> httpx.Response:
        call = tool_call("status")
        headers = {**headers_for(call), "Authorization": f"Bearer {self._tokens['access_token']}"}
        return self._ask("POST", f"{self._base_url}/mcp", json=call, headers=headers)

    def _revoke(self) -> httpx.Response:
        form = {"token": self._tokens["refresh_token"], "client_id": self._client_id}
        return self._ask("POST", self._server["revocation_endpoint"], data=form)

    def _leave_nothing(self) -> None:
        if self._tokens:
            try:
                self._revoke()
            except Broken:
                return

    def _document(self, url: str) -> dict[str, Any]:
        reply = self._ask("GET", url)
        if reply.status_code == 404 and _is_ours(reply):
            raise Broken(f"{urlsplit(url).path} is not there: the server has no login", _RESTART)
        if reply.status_code != 200:
            raise _odd(reply, "200")
        return _json(reply)

    def _same_host(self, url: str, what: str) -> None:
        if not url.startswith(f"{self._base_url}/"):
            raise Broken(f"{what} is at {url}, not below {self._base_url}", _RESTART)

    def _ask(self, method: str, url: str, **request: Any) -> httpx.Response:
        try:
            return self._http.request(method, url, **request)
        except httpx.TimeoutException as error:
            raise Broken(
                f"{url} did not answer within {TIMEOUT_S} s",
                "see whether this machine reaches the public address at all, and how long the proxy takes",
            ) from error
        except httpx.HTTPError as error:
            raise Broken(f"{url}: {error}", _advice_for(str(error))) from error


def reachable_from_elsewhere(base_url: str) -> Iterator[Finding]:
    """Whether hosted clients, which come from the internet, could reach the address."""
    what = "sign-in: address"
    parts = urlsplit(base_url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError as error:
        yield failed(what, f"{host} has no address ({error})", "enter the name in the DNS of its domain")
        return
    public = [address for address in found if ipaddress.ip_address(address.partition("%")[0]).is_global]
    if parts.scheme != "https" or port != 443:
        yield warning(what, base_url, "hosted clients such as claude.ai reach https on port 443 only")
    elif not any("." in address for address in public):
        seen = f"{host} is {', '.join(sorted(found))} from here"
        yield warning(what, seen, "hosted clients need a public IPv4 address; clients in the same network do not")
    else:
        yield ok(what, f"{host} is {', '.join(sorted(public))}")


def _odd(reply: httpx.Response, expected: str) -> Broken:
    """What an answer of an unexpected status most likely comes from."""
    status, where = reply.status_code, f"{reply.request.method} {reply.request.url.path}"
    seen = f"{where} answered {status}, expected {expected}"
    if status == 421:
        return Broken(seen, "have the proxy pass the Host header on, or add its name to PASSAGEWAY_ALLOWED_HOSTS")
    if status in (502, 503, 504) and not _is_ours(reply):
        return Broken(seen, "the proxy does not reach the server; see its upstream address, and that the server runs")
    if 300 <= status < 400:
        target = reply.headers.get("location", "")
        return Broken(f"{seen}; it leads to {target}", "serve this address itself: clients do not follow redirects")
    if status == 429:
        return Broken(seen, f"wait {reply.headers.get('retry-after', '60')} s and try again")
    if status == 200 and expected == "401":
        return Broken(seen, "whoever comes through the proxy is let in: it must not add an Authorization header")
    if _is_ours(reply):
        return Broken(f"{seen}: {reply.text[:300]}", "look at the log of the server")
    return Broken(seen, f"something before the server answers; {_WHOLE}")


def _is_ours(reply: httpx.Response) -> bool:
    """Whether an error is in one of the server's own shapes."""
    try:
        body = reply.json()
    except ValueError:
        return False
    return isinstance(body, dict) and "error" in body and bool(body.keys() & {"message", "error_description"})


def _json(reply: httpx.Response) -> dict[str, Any]:
    try:
        body = reply.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        kind = reply.headers.get("content-type", "something without a type")
        raise Broken(f"{reply.request.url.path} answered with {kind}, expected JSON", _WHOLE)
    return body


def _missing(answer: dict[str, str]) -> str:
    return ", ".join(name for name in ("code", "state", "iss") if name not in answer) or "the right state or issuer"


def _advice_for(error: str) -> str:
    if "certificate" in error.lower():
        return "give the proxy a certificate that this machine trusts, with its whole chain"
    return "see that the proxy runs and that this machine reaches the public address"
