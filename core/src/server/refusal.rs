//! Responses that need no entry in a table: errors for invalid messages, empty results; and the
//! members that a modern revision adds to each result.

use super::ServerConfig;
use super::event::ServerEvent;
use crate::encode::{Addition, Additions, Encode, Encoder};
use crate::error::SendError;
use crate::lifecycle::Revision;
use crate::message::Id;
use crate::rpc::{RpcError, write_error, write_response_head};
use crate::tx::{Tx, WriterId};
use crate::types::meta::SERVER_INFO;
use crate::violation::Violation;

/// An error for a message that the server rejects itself.
pub(super) struct Refusal<'e> {
    pub(super) violation: Violation,
    pub(super) error: RpcError<'e>,
}

impl<'e> Refusal<'e> {
    pub(super) fn new(violation: Violation, error: RpcError<'e>) -> Self {
        Self { violation, error }
    }

    pub(super) fn params(message: &'e str) -> Self {
        Self { violation: Violation::InvalidParams, error: RpcError::invalid_params(message) }
    }

    /// Returns the id for the error: `None` if the id is in use, because the error would end the
    /// request that uses it.
    pub(super) fn id<'f>(&self, id: Id<'f>) -> Option<Id<'f>> {
        (self.violation != Violation::IdInUse).then_some(id)
    }
}

impl From<Violation> for Refusal<'_> {
    fn from(violation: Violation) -> Self {
        Self { violation, error: RpcError::new(violation.code(), violation.message()) }
    }
}

/// Writes an error, and returns the violation as an event.
pub(super) fn refuse<'f>(
    id: Option<Id<'_>>,
    revision: Revision,
    refusal: Refusal<'_>,
    tx: &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError> {
    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
        #[cfg(feature = "http")]
        writer.set_status(refusal.violation.http_status(revision));
        write_error(writer, id.map(Id::as_str), &refusal.error)
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
