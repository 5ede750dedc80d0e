"""What version 1 of the SDK raises, as errors of the harness."""

from __future__ import annotations

from contextlib import contextmanager

from mcp import McpError

from harness import RpcError, TimedOut

HTTP_TIMEOUT = 408  # the code of timeouts in this SDK


@contextmanager
def translated():
    try:
        yield
    except McpError as error:
        if error.error.code == HTTP_TIMEOUT:
            raise TimedOut(str(error)) from error
        raise RpcError(error.error.code, error.error.message, error.error.data) from error
