//! Responses that need no entry in a table: errors for invalid messages, empty results; and the
//! members that a modern revision adds to each result.

use super::ServerConfig;
use super::event::ServerEvent;
use crate::encode::{Addition, Additions, Encode, Encoder};
use crate::error::SendError;
use crate::json::RawJson;
use crate::lifecycle::Revision;
use crate::message::Id;
use crate::rpc::{ErrorCode, RpcError, write_error, write_response_head};
use crate::tx::{Tx, WriterId};
use crate::types::meta::SERVER_INFO;
use crate::violation::{TERSE, Violation};
use crate::words::{Words, words};

/// The reason why the server rejects a message itself: a violation, and the detail of it. Two bytes
/// until it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    violation: Violation,
    detail: Detail,
}

/// Generates the refusals with words of their own from one row each: `NAME => violation, words`.
macro_rules! details {
    ($($name:ident => $violation:ident, $words:literal;)*
     ; over http: $($http:ident => $mismatch:ident, $http_words:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Detail {
            $($name,)*
            $(#[cfg(feature = "http")] $http,)*
            /// The violation says all.
            None,
        }

        impl Refusal {
            $(pub(super) const $name: Self =
                Self { violation: Violation::$violation, detail: Detail::$name };)*
            $(#[cfg(feature = "http")]
            pub(super) const $http: Self =
                Self { violation: Violation::$mismatch, detail: Detail::$http };)*
        }

        /// In the order of the variants.
        #[cfg(not(feature = "http"))]
        const DETAILS: Words = words![$($words),*];
        #[cfg(feature = "http")]
        const DETAILS: Words = words![$($words,)* $($http_words),*];
    };
}

details! {
    INITIALIZE_FIRST => NotInitialized, "Not initialized: send initialize first";
    NO_INITIALIZE => UnsupportedVersion,
        "initialize is not supported: send each request with version 2026-07-28 in params._meta";
    INITIALIZE => InvalidParams,
        "initialize needs protocolVersion, capabilities and clientInfo with name and version";
    TOKEN => InvalidParams, "The progress token must be a string or an integer";
    LOG_LEVEL => InvalidParams, "Unknown log level";
    NAME => InvalidParams, "params.name must be a string";
    ARGUMENTS => InvalidParams, "params.arguments must be an object";
    STRING_ARGUMENTS => InvalidParams, "params.arguments must be an object of strings";
    CURSOR => InvalidParams, "params.cursor must be a string";
    URI => InvalidParams, "params.uri must be a URI";
    REFERENCE => InvalidParams,
        "params.ref must be a ref/prompt with a name or a ref/resource with a uri";
    ARGUMENT => InvalidParams, "params.argument must have the strings name and value";
    NOTIFICATIONS => InvalidParams, "params.notifications must be an object";
    LIST_CHANGED => InvalidParams, "listChanged members of params.notifications must be booleans";
    SUBSCRIPTIONS => InvalidParams,
        "params.notifications.resourceSubscriptions must be an array of strings";
    INPUT => InvalidParams,
        "params.inputResponses must be an object of objects and params.requestState a string";
    ;
    over http:
    VERSION_HEADER_MISSING => HeaderMismatch,
        "MCP-Protocol-Version is missing: send the version in params._meta, for example 2026-07-28";
    VERSION_HEADER_INVALID => HeaderMismatch, "MCP-Protocol-Version is invalid or repeated";
    VERSION_HEADER => HeaderMismatch,
        "MCP-Protocol-Version differs from the version in params._meta";
    METHOD_HEADER_MISSING => HeaderMismatch,
        "Mcp-Method is missing: send the method of the message";
    METHOD_HEADER => HeaderMismatch, "Mcp-Method differs from the method of the message";
    NAME_HEADER_MISSING => HeaderMismatch,
        "Mcp-Name is missing: send params.name, params.uri or params.taskId";
    NAME_HEADER => HeaderMismatch, "Mcp-Name differs from params.name, params.uri or params.taskId";
}

impl Refusal {
    /// Returns the words of the error response.
    pub(super) fn words(self) -> &'static str {
        DETAILS.get(self.detail as usize).unwrap_or(self.violation.message())
    }

    /// Returns the id for the error: `None` if the id is in use, because the error would end the
    /// request that uses it.
    pub(super) fn id<'f>(self, id: Id<'f>) -> Option<Id<'f>> {
        (self.violation != Violation::IdInUse).then_some(id)
    }

    /// Returns the error; that of an unsupported version repeats the requested one.
    fn error<'e>(self, config: &ServerConfig<'_>, requested: Option<RawJson<'e>>) -> RpcError<'e> {
        let message = config.words.map_or(TERSE, |words| words(self));
        match requested {
            Some(version) if self.violation == Violation::UnsupportedVersion => {
                RpcError::unsupported_version(config.revisions, version).with_message(message)
            }
            _ if self == Self::INITIALIZE_FIRST => {
                RpcError::new(ErrorCode::InvalidRequest, message)
            }
            _ => RpcError::new(self.violation.code(), message),
        }
    }
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        Self { violation, detail: Detail::None }
    }
}

/// Writes an error, and returns the violation as an event. `requested` is the version that the
/// message asks for.
#[cfg_attr(small, inline(never))]
pub(super) fn refuse<'f>(
    config: &ServerConfig<'_>,
    id: Option<Id<'_>>,
    revision: Revision,
    refusal: Refusal,
    requested: Option<RawJson<'_>>,
    tx: &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError> {
    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
        #[cfg(feature = "http")]
        writer.set_status(refusal.violation.http_status(revision));
        write_error(writer, id.map(Id::as_str), &refusal.error(config, requested))
    })?;
    Ok(Some(ServerEvent::Violation(refusal.violation)))
}

/// Writes the result `{}`.
pub(super) fn respond_empty(
    id: Id<'_>,
    revision: Revision,
    tx: &mut Tx<'_>,
) -> Result<(), SendError> {
    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
        write_response_head(writer, id.as_str().as_bytes(), b",\"result\":{}}")
    })
}

/// Writes a result, with the members that its revision adds.
#[cfg_attr(not(small), inline)]
#[cfg_attr(small, inline(never))]
pub(super) fn write_result<P: Encode + ?Sized>(
    config: &ServerConfig<'_>,
    writer: &mut Encoder<'_>,
    result_type: &str,
    result: &P,
) {
    if !writer.revision().is_modern() {
        return writer.any_object(result);
    }
    let addition = |name, value| Addition { name, value, is_reserved: false };
    let meta = [addition(SERVER_INFO, &config.info)];
    writer.completed(
        result,
        &Additions {
            members: &[addition("resultType", &result_type)],
            meta: if config.send_server_info { &meta } else { &[] },
        },
    );
}
