"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from umi import limits
from umi.errors import InvalidInput

PORT_DEFAULT = 8765
HOST_DEFAULT = "127.0.0.1"


GRANTS_CLAIM_DEFAULT = "umi_grants"


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Whose JSON Web Tokens open the server.

    Args:
        jwks: The issuer's key set: an https URL, a http URL of this machine, or a file.
        issuer: What `iss` must be.
        audience: What `aud` must be or contain.
        grants_claim: The claim with grants, in the form of `Grant.parse`: a list, or one text with spaces between.
        namespace_claim: The claim with the one namespace that a token may read, write and erase in; None is no such claim.

    Raises:
        InvalidInput: For a text that is empty, or a key set at a http URL of another machine.
    """

    jwks: str
    issuer: str
    audience: str
    grants_claim: str = GRANTS_CLAIM_DEFAULT
    namespace_claim: str | None = None

    def __post_init__(self) -> None:
        for name in ("jwks", "issuer", "audience", "grants_claim"):
            if not getattr(self, name).strip():
                raise InvalidInput(f"{name} is empty; tokens need --jwks, --issuer and --audience")
        url = _split(self.jwks)
        if url.scheme.lower() == "http" and not is_loopback(url.hostname or ""):
            raise InvalidInput(
                f"the key set at {self.jwks} can be replaced on its way: name an https URL, a file, or a URL of this machine"
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server answers.

    Args:
        host: The address to listen on. Any other than loopback needs keys.
        port: The port; 0 takes a free one.
        allowed_hosts: Names that a `Host` header may have beside loopback's, such as that of a proxy.
        deadline_s: How long one request may take, streams excepted.
        requests_per_s: How many requests one key may send a second; twice as many at once. 0 is no bound.
        keys: The file of keys, which need not be there. From the first key on every request needs one or a token; None is no such file.
        tokens: Whose tokens open the server, beside keys; None is nobody's.
        public_url: Where clients reach the server, such as a proxy's "https://memory.example"; None is where each asks.
        mcp_namespace: The namespace of /mcp; /mcp/NAME is that of NAME.
        mcp_read_only: Whether MCP offers only tools that change nothing.
        mem0: Whether the paths of mem0's API are answered too; see `umi.server.mem0`.
        profile: Whose MCP tools are offered; see `umi.server.profiles`.
        otel: Whether each operation is told to OpenTelemetry.
        demo: The namespace with the tour's data, where the server was started to show that; None is none.
        audit: A file for a line about each write, erasure and refusal; None writes none.

    Raises:
        InvalidInput: For a port outside 0..65,535, a deadline that is not positive, a rate below 0 or a public URL that is none.
    """

    host: str = HOST_DEFAULT
    port: int = PORT_DEFAULT
    allowed_hosts: tuple[str, ...] = ()
    deadline_s: float = limits.SERVER_DEADLINE_S
    requests_per_s: float = limits.SERVER_REQUESTS_PER_S_DEFAULT
    keys: str | None = None
    tokens: TokenSettings | None = None
    public_url: str | None = None
    audit: str | None = None
    mcp_namespace: str = "default"
    mcp_read_only: bool = False
    mem0: bool = False
    profile: str = "umi"
    otel: bool = False
    demo: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InvalidInput(f"port is {self.port}, it must lie in 0..65,535")
        if not self.deadline_s > 0:
            raise InvalidInput(f"the deadline must be a positive number of seconds, got {self.deadline_s!r}")
        if not self.requests_per_s >= 0:
            raise InvalidInput(
                f"the rate must be a number of requests a second, 0 or more, got {self.requests_per_s!r}"
            )
        if self.public_url is not None:
            url = _split(self.public_url)
            if url.scheme not in {"http", "https"} or not url.hostname or url.query or '"' in self.public_url:
                raise InvalidInput(
                    f"{self.public_url!r:.200} is no URL of a server; write it as https://memory.example"
                )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def known_hosts(self) -> frozenset[str]:
        """Names that a `Host` header may have beside loopback's."""
        public = None if self.public_url is None else _split(self.public_url).hostname
        return frozenset(self.allowed_hosts) | frozenset([public] if public else [])


def is_loopback(host: str) -> bool:
    """Whether a name or an address is of this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult:
    """The parts of a URL.

    Raises:
        InvalidInput: For one that cannot be read.
    """
    try:
        return urlsplit(url)
    except ValueError as error:
        raise InvalidInput(f"{url!r:.200} is no URL: {error}") from error
