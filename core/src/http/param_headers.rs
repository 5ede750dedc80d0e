//! `Mcp-Name` and `Mcp-Param-*`: header fields that repeat parts of the body (2026-07-28,
//! basic/transports/streamable-http).
//!
//! Values that every intermediary passes unchanged are sent as they are, others as
//! `=?base64?...?=`:
//!
//! ```
//! use mcp_sansio::http::param_headers::FieldValue;
//!
//! assert_eq!(FieldValue::text("us-west1").to_string(), "us-west1");
//! assert_eq!(FieldValue::text("Hello, 世界").to_string(), "=?base64?SGVsbG8sIOS4lueVjA==?=");
//! assert!(FieldValue::text(" padded ").matches(b"=?base64?IHBhZGRlZCA=?="));
//! ```
//!
//! The input schema of a tool marks the arguments to repeat with `x-mcp-header`: see
//! [`header_params`].

pub use crate::param_headers::{
    FieldValue, HeaderName, HeaderParam, HeaderParams, InvalidFieldValue, MAX_HEADER_NAME,
    MAX_PARAMS, MAX_SCHEMA_DEPTH, check_schema, header_params,
};
