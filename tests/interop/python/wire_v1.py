"""What version 1 of the SDK returns and raises, in wire form."""

from __future__ import annotations

from contextlib import contextmanager

from mcp import McpError
from pydantic import BaseModel

from harness import Json, RpcError, TimedOut

HTTP_TIMEOUT = 408  # the code of timeouts in this SDK


def plain(model: BaseModel) -> Json:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextmanager
def translated():
    try:
        yield
    except McpError as error:
        if error.error.code == HTTP_TIMEOUT:
            raise TimedOut(str(error)) from error
        raise RpcError(error.error.code, error.error.message, error.error.data) from error
