//! Values of `Mcp-Name` and `Mcp-Param-*`: what a field can carry as it is, and the rest as `=?base64?...?=` (2026-07-28, basic/transports/streamable-http).
