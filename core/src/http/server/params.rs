//! Whether a call repeats the arguments that its tool wants repeated (2026-07-28,
//! basic/transports/streamable-http).

use crate::http::SingleValue;
use crate::http::param_headers::{FieldValue, header_params};
use crate::rpc::{ErrorCode, RpcError};
use crate::server::Request;
use crate::types::Tool;

pub(crate) fn check_param_headers(
    tool: &Tool<'_>,
    request: &Request<'_>,
) -> Result<(), RpcError<'static>> {
    let Some(head) = request.http_head().filter(|_| request.revision.is_modern()) else {
        return Ok(());
    };
    let mismatch = |message| Err(RpcError::new(ErrorCode::HeaderMismatch, message));
    for param in header_params(tool.input_schema, request.arguments().raw()) {
        // The catalog's check finds an annotation that no field can be named by.
        let Some(name) = param.name() else { continue };
        let value = match param.value.map(FieldValue::argument) {
            None => None,
            Some(Ok(value)) => value,
            Some(Err(_)) => {
                return mismatch(
                    "An argument that x-mcp-header names is no string, boolean, or integer within 2^53",
                );
            }
        };
        match (head.fields.single(name.as_str()), value) {
            (SingleValue::Absent, None) => {}
            (SingleValue::Value(field), Some(value)) if value.matches(field.as_bytes()) => {}
            (SingleValue::Absent, Some(_)) => {
                return mismatch(
                    "An Mcp-Param field is missing: the tool's x-mcp-header names the argument",
                );
            }
            (_, None) => {
                return mismatch("An Mcp-Param field repeats an argument that is not there");
            }
            _ => {
                return mismatch(
                    "An Mcp-Param field is not the argument that the tool's x-mcp-header names",
                );
            }
        }
    }
    Ok(())
}
