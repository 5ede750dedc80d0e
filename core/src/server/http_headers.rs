//! HTTP headers that mirror members of the body (2026-07-28, basic/transports/streamable-http).
//! Nothing is checked on a stream.

use super::refusal::Refusal;
use crate::json::JsonStr;
use crate::lifecycle::Method;
use crate::message::{Envelope, TransportContext};

#[cfg(not(feature = "http"))]
impl<'f> TransportContext<'f> {
    pub(super) fn declares_modern_version(&self) -> bool {
        false
    }

    pub(super) fn require_version_header(&self) -> Result<(), Refusal> {
        Ok(())
    }

    pub(super) fn check_version_header(&self, _: JsonStr<'f>) -> Result<(), Refusal> {
        Ok(())
    }

    pub(super) fn check_headers(&self, _: Method<'f>, _: &Envelope<'f>) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(feature = "http")]
mod http {
    use super::*;
    use crate::head::SingleValue;
    use crate::json::RawJson;
    use crate::lifecycle::Revision;
    use crate::message::Member;
    use crate::param_headers::{FieldValue, header_params};
    use crate::rpc::{ErrorCode, RpcError};
    use crate::server::Request;

    impl<'f> TransportContext<'f> {
        /// Returns whether `MCP-Protocol-Version` names a modern or an unknown revision.
        pub(in crate::server) fn declares_modern_version(&self) -> bool {
            let version = self.fields().and_then(|fields| fields.get(VERSION));
            version.is_some_and(|version| Revision::parse(version).is_none_or(Revision::is_modern))
        }

        pub(in crate::server) fn require_version_header(&self) -> Result<(), Refusal> {
            match self.fields().map(|fields| fields.single(VERSION)) {
                None | Some(SingleValue::Value(_)) => Ok(()),
                Some(SingleValue::Absent) => Err(Refusal::VERSION_HEADER_MISSING),
                Some(SingleValue::Repeated | SingleValue::NotUtf8) => {
                    Err(Refusal::VERSION_HEADER_INVALID)
                }
            }
        }

        pub(in crate::server) fn check_version_header(
            &self,
            version: JsonStr<'f>,
        ) -> Result<(), Refusal> {
            match self.fields().and_then(|fields| fields.get(VERSION)) {
                Some(repeated) if version != *repeated => Err(Refusal::VERSION_HEADER),
                _ => Ok(()),
            }
        }

        /// Checks `Mcp-Method`, and `Mcp-Name` for methods with a name or URI.
        /// `Mcp-Param-*` needs the tool's schema:
        /// [`check_param_headers`](Request::check_param_headers).
        pub(in crate::server) fn check_headers(
            &self,
            method: Method<'f>,
            envelope: &Envelope<'f>,
        ) -> Result<(), Refusal> {
            let Some(fields) = self.fields() else { return Ok(()) };
            let is_method = |repeated: &str| {
                envelope
                    .value(Member::Method)
                    .and_then(|m| m.as_string())
                    .is_some_and(|m| m == *repeated)
            };
            match fields.single("mcp-method") {
                SingleValue::Value(repeated) if is_method(repeated) => {}
                SingleValue::Absent => {
                    return Err(Refusal::METHOD_HEADER_MISSING);
                }
                _ => return Err(Refusal::METHOD_HEADER),
            }
            let name = match method {
                Method::ToolsCall | Method::PromptsGet => "name",
                Method::ResourcesRead => "uri",
                #[cfg(feature = "tasks")]
                Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => "taskId",
                _ => return Ok(()),
            };
            // A name of another type is reported by the check of the parameters.
            let Some(name) = envelope.params().get(name).and_then(|name| name.as_string()) else {
                return Ok(());
            };
            match fields.single("mcp-name") {
                SingleValue::Value(repeated)
                    if FieldValue::text(name).matches(repeated.as_bytes()) =>
                {
                    Ok(())
                }
                SingleValue::Absent => Err(Refusal::NAME_HEADER_MISSING),
                _ => Err(Refusal::NAME_HEADER),
            }
        }
    }

    impl Request<'_> {
        /// Checks that the head of a `tools/call` request repeats the arguments that the tool's
        /// input schema annotates (2026-07-28, basic/transports/streamable-http).
        pub(crate) fn check_param_headers(
            &self,
            input_schema: RawJson<'_>,
        ) -> Result<(), RpcError<'static>> {
            let Some(fields) = self.http_fields().filter(|_| self.revision.is_modern()) else {
                return Ok(());
            };
            let mismatch = |message| Err(RpcError::new(ErrorCode::HeaderMismatch, message));
            for param in header_params(input_schema, self.arguments().raw()) {
                // The catalog's own check has reported invalid annotations.
                let Some(name) = param.name() else { continue };
                let value = match param.value.map(FieldValue::argument) {
                    None => None,
                    Some(Ok(value)) => value,
                    Some(Err(_)) => {
                        return mismatch(
                            "An argument annotated with x-mcp-header is not a string, boolean, or integer within 2^53",
                        );
                    }
                };
                match (fields.single(name.as_str()), value) {
                    (SingleValue::Absent, None) => {}
                    (SingleValue::Value(field), Some(value)) if value.matches(field.as_bytes()) => {
                    }
                    (SingleValue::Absent, Some(_)) => {
                        return mismatch(
                            "A Mcp-Param field is missing for an argument annotated with x-mcp-header",
                        );
                    }
                    (_, None) => {
                        return mismatch("A Mcp-Param field repeats an argument that is missing");
                    }
                    _ => {
                        return mismatch(
                            "A Mcp-Param field differs from the argument annotated with x-mcp-header",
                        );
                    }
                }
            }
            Ok(())
        }
    }

    const VERSION: &str = "mcp-protocol-version";
}
