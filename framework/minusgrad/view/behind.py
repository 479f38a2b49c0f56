"""A proxy before a page: the address at which it shows the port, such as that of a notebook's server.

https://hub.example.org/user/me/proxy/8080/      jupyter-server-proxy, which takes its path away
https://name-{port}.app.example.dev/             a forwarded port; {port} is that of the page

Decisions 0106.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import UserError, printable

USUAL = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Behind:
    """scheme, host and port of the origin, and the path at which the page is, without the last slash."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        """As browsers write it: without the usual port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """As browsers send it."""
        return f"{self.scheme}://{self.netloc}"

    def is_host(self, host: str) -> bool:
        """True for a Host header of this proxy."""
        return host.lower() in (self.netloc, f"{self.netloc}:{self.port}")


def parse_proxy(address: str, port: int) -> Behind:
    """The proxy at an address, for a page at a port. Raises `UserError` for what is no address of a proxy."""
    text = address.replace("{port}", str(port))
    try:
        parts = urlsplit(text)
        host, number = parts.hostname or "", parts.port
    except ValueError:
        parts, host, number = urlsplit(""), "", None
    strange = parts.username is not None or parts.query or parts.fragment or set(text) & set(' "<>\\{}*')
    if parts.scheme not in USUAL or not host or strange or not text.isprintable() or not text.isascii():
        raise UserError(
            "view: --behind must be the address at which a proxy shows the port, such as"
            f" https://HUB/user/NAME/proxy/{{port}}/, got '{printable(address)}'; copy it from the browser"
        )
    return Behind(parts.scheme, host, number or USUAL[parts.scheme], parts.path.rstrip("/"))
