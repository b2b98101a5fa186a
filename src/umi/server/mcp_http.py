"""MCP over streamable HTTP: /mcp/NAMESPACE on the port of the REST routes, with the same keys."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import cast
from urllib.parse import unquote

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from umi import limits
from umi.errors import InvalidInput
from umi.server import profiles
from umi.server.access import Use
from umi.server.gate import MCP_PREFIX
from umi.server.mcp_tools import Bound
from umi.server.problems import Refused, of_error, problem
from umi.server.service import Service


class McpHttp:
    """An ASGI application for paths below /mcp. Enter `running` before it is asked.

    Args:
        service: What all requests share.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        server = profiles.make(service.settings.profile, self._bound, read_only=service.settings.mcp_read_only)
        # The gate checks hosts and lengths.
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=limits.SERVER_BODY_BYTES_MAX,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._manager = server.session_manager

    def running(self) -> AbstractAsyncContextManager[None]:
        """What it needs while it answers."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, if its caller may do anything in its namespace."""
        use = cast("Use", scope["umi.use"])
        try:
            use.namespace = name = self._name(scope["path"])
            use.caller.require_anything(name)
            self._service.view(name, use.caller)  # a name outside its limits is told before the protocol begins
        except Refused as refusal:
            use.action = "mcp"
            await refusal.response()(scope, receive, send)
            return
        except InvalidInput as error:
            await of_error(error)(scope, receive, send)
            return
        if scope["method"] != "POST":
            # To a GET the library would send a stream in which nothing ever comes.
            told = "without sessions there is no stream and nothing to end: POST messages"
            await problem(405, "no_such_method", told, headers={"Allow": "POST"})(scope, receive, send)
            return
        await self._manager.handle_request({**scope, "umi.name": name}, receive, send)

    def _name(self, path: str) -> str:
        """The namespace in a path: /mcp is that of the server, /mcp/NAME is NAME.

        Raises:
            Refused: For a path with more in it.
        """
        rest = path.removeprefix(MCP_PREFIX).strip("/")
        if "/" in rest:
            raise Refused(404, "no_such_path", f"write {MCP_PREFIX}/NAMESPACE, with '/' in a name as %2F")
        return unquote(rest) if rest else self._service.settings.mcp_namespace

    def _bound(self, ctx: Context) -> Bound:
        request = ctx.request_context.request
        if request is None:
            raise Refused(500, "bug", "a call without its request")
        name, use = request.scope["umi.name"], request.scope["umi.use"]
        return Bound(name, self._service.view(name, use.caller), use.caller, use, self._service.spans)
