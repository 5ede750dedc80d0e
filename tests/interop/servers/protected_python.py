"""A protected server with its own authorization server, on either version of the PyPI package `mcp`.

    protected_python.py --http PORT

`whoami` says whose token the call came with. There is no consent page: each authorization is granted at once. An access
token of the client name `brief` ends after 4 seconds.
"""

from __future__ import annotations

import secrets
import socket
import sys
import time
import warnings
from typing import Any

import anyio
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, TokenError, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthToken

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

warnings.simplefilter("ignore")
SCOPE = "mcp:tools"


class Authorization:
    """The authorization server's part that the SDK leaves to the program: clients, codes and tokens, in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [SCOPE],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            **params.model_dump(include={"code_challenge", "redirect_uri", "redirect_uri_provided_explicitly", "resource"}),
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, _client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        if not self.codes.pop(authorization_code.code, None):
            raise TokenError("invalid_grant", "the code was used before")
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, _client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        del self.refresh[refresh_token.token]  # it serves once
        return self.issue(client, scopes, refresh_token.resource)

    def issue(self, client: Any, scopes: list[str], resource: str | None) -> OAuthToken:
        seconds = 4 if client.client_name == "brief" else 600
        common = {"client_id": client.client_id, "scopes": scopes, "resource": resource, "subject": "alice"}
        access = AccessToken(token=secrets.token_urlsafe(32), expires_at=int(time.time()) + seconds, **common)
        refresh = RefreshToken(token=secrets.token_urlsafe(32), **common)
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(access_token=access.token, expires_in=seconds, scope=" ".join(scopes), refresh_token=refresh.token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


async def main(port: int) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = MCPServer(
        "protected",
        auth_server_provider=Authorization(),
        auth=AuthSettings(
            issuer_url=origin,
            resource_server_url=f"{origin}/mcp",
            required_scopes=[SCOPE],
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]),
            revocation_options=RevocationOptions(enabled=True),
            validate_token_resource=True,
        ),
    )

    @server.tool()
    def whoami() -> str:
        return f"{get_access_token().subject}: {' '.join(get_access_token().scopes)}"

    print(f"{origin}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical", timeout_graceful_shutdown=0, lifespan="on")
    await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[2]))
