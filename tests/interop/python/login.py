"""Logs in to a protected server with either version of the PyPI package `mcp`, and calls its tools.

    login.py URL PERSON...      PERSON is the command that answers an authorization URL, which follows as its last argument
"""

from __future__ import annotations

import subprocess
import sys
import traceback
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qs, urlparse

import anyio
from mcp import ClientSession
from mcp.client import streamable_http
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

VERSION = version("mcp")
REDIRECT = "http://127.0.0.1:9/callback"  # where nothing listens: the person does not go there


class Kept:
    """What a client keeps between connections."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class NotOffered(Exception):
    pass


class Login:
    def __init__(self, url: str, person: list[str]) -> None:
        self.url, self.person, self.kept = url, person, Kept()
        self.asked = 0  # how often the person was
        self.answer: dict[str, list[str]] = {}

    async def show(self, page: str) -> None:
        self.asked += 1
        went = await anyio.run_process([*self.person, page], stderr=subprocess.PIPE)
        self.answer = parse_qs(urlparse(went.stdout.decode().strip()).query)

    async def redirected(self) -> Any:
        code, state, iss = (self.answer.get(name, [None])[0] for name in ("code", "state", "iss"))
        if code is None:
            raise PermissionError(self.answer["error"][0])
        if VERSION.startswith("1."):
            return code, state
        from mcp.client.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(code=code, state=state, iss=iss)

    async def call(self, tool: str) -> str:
        """On a connection of its own."""
        metadata = OAuthClientMetadata(client_name="interop", redirect_uris=[REDIRECT], token_endpoint_auth_method="none")
        auth = OAuthClientProvider(self.url, metadata, self.kept, self.show, self.redirected)
        if VERSION.startswith("1."):
            import httpx
        else:
            import httpx2 as httpx
        async with (
            httpx.AsyncClient(auth=auth, timeout=30) as http,
            streamable_http.streamable_http_client(self.url, http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            if tool not in [offered.name for offered in (await session.list_tools()).tools]:
                raise NotOffered(f"the server has no {tool}")
            result = await session.call_tool(tool, {})
            return result.content[0].text


async def main(url: str, person: list[str]) -> int:
    failed = 0

    async def case(name: str, check: Any) -> None:
        nonlocal failed
        try:
            with anyio.fail_after(30):
                await check()
            print(f"PASS python {VERSION}: {name}", flush=True)
        except BaseException as error:  # in a group, if it comes from a task of the SDK
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            if isinstance(error, NotOffered):
                print(f"N/A python {VERSION}: {name} -- {error}", flush=True)
                return
            traceback.print_exception(error)
            failed += 1
            print(f"FAIL python {VERSION}: {name} -- {type(error).__name__}: {error}", flush=True)

    login = Login(url, person)

    async def logs_in() -> None:
        said = await login.call("whoami")
        assert said.startswith("alice: "), said
        assert login.asked == 1, login.asked

    async def keeps() -> None:
        await login.call("whoami")
        assert login.asked == 1, login.asked

    async def steps_up() -> None:
        assert "mcp:write" in (await login.call("write")).split()
        assert login.asked == 2, login.asked

    async def recovers() -> None:
        login.kept.tokens = login.kept.tokens.model_copy(update={"access_token": "not-a-token", "refresh_token": None})
        said = await login.call("whoami")
        assert said.startswith("alice: "), said

    await case("logs in", logs_in)
    await case("keeps its tokens for the next connection", keeps)
    await case("asks for the scope that a tool needs", steps_up)
    await case("logs in again when its token is refused", recovers)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[1], sys.argv[2:]))
