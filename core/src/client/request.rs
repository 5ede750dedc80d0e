//! How a request of ours is written.

use core::cell::Cell;

use super::Client;
use super::options::CallOptions;
use super::pending::{Outgoing, Purpose};
use crate::error::SendError;
use crate::inflight::Slot;
use crate::json::{
    AddedValue, Addition, Additions, Decimal, Extras, RawJson, WriteError, WriteResult, Writer,
    write_result, write_value,
};
use crate::lifecycle::{Method, Revision};
use crate::message::{Id, hash_str};
use crate::rpc::write_response_head;
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};
use crate::types::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, PROTOCOL_VERSION,
};
use crate::types::{ClientCapabilities, LoggingLevel};

/// A request that is to be sent.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    pub(super) method: &'a str,
    pub(super) params: WriteResult<'a>,
    /// What is added to the parameters.
    pub(super) inputs: &'a [Addition<'a>],
    pub(super) round: u8,
    pub(super) purpose: Purpose,
    pub(super) options: CallOptions,
    pub(super) revision: Revision,
    /// Whose place it takes.
    pub(super) replaces: Option<Slot>,
}

impl<'a> New<'a> {
    pub(super) const fn request(
        method: &'a str,
        params: WriteResult<'a>,
        revision: Revision,
    ) -> Self {
        let options = CallOptions::new();
        Self {
            method,
            params,
            inputs: &[],
            round: 0,
            purpose: Purpose::Application,
            options,
            revision,
            replaces: None,
        }
    }
}

impl<'c, const N: usize> Client<'c, N> {
    /// The one place where requests begin.
    pub(super) fn call(
        &mut self,
        now: Instant,
        new: &New<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Slot, SendError> {
        if self.calls.is_full() && new.replaces.is_none() {
            return Err(SendError::TooMany);
        }
        // An id is never used again; after four billion of them that ends.
        let number = self.calls_made.checked_add(1).ok_or(SendError::TooMany)?;
        let digits = Decimal::new(u64::from(number), false);
        let key = self.key(new);
        let has_begun = tx.is_open(key);
        let written = tx.frame(key, new.revision, &mut |writer| {
            write_response_head(writer, digits.as_bytes(), b",\"method\":")?;
            writer.string(new.method)?;
            writer.put(b",\"params\":")?;
            self.write_params(writer, digits.as_bytes(), new)?;
            writer.put(b"}")
        });
        if has_begun && written == Err(SendError::Value) {
            self.forgo(number);
        }
        written?;
        self.calls_made = number;
        if let Some(replaced) = new.replaces {
            self.retire(replaced);
        }
        let timeout = new.options.timeout.unwrap_or(self.config.call_timeout);
        let limit = match new.purpose {
            Purpose::Application => {
                now.saturating_add(new.options.limit.unwrap_or(self.config.call_limit))
            }
            _ => Instant::NEVER,
        };
        let outgoing = Outgoing {
            number,
            purpose: new.purpose,
            round: new.round,
            may_require_input: Method::from_name(new.method).is_some_and(Method::may_require_input),
            wants_progress: new.options.progress,
            timeout,
            limit,
        };
        let hash =
            core::str::from_utf8(digits.as_bytes()).ok().and_then(Id::parse).map_or(1, Id::hash);
        let deadline = Some(now.saturating_add(timeout).min(limit));
        self.calls.insert(hash, deadline, outgoing).map(|(slot, _)| slot).ok_or(SendError::TooMany)
    }

    pub(super) fn key(&self, new: &New<'_>) -> FrameKey {
        match new.purpose {
            Purpose::KeepAlive => FrameKey::PING,
            Purpose::Opening => FrameKey::OPENING,
            Purpose::Application | Purpose::Listen { .. } => {
                FrameKey::sent(hash_str(new.method) as u32 ^ self.calls_made.rotate_right(8))
            }
        }
    }

    /// The application's parameters, and what the revision adds to them.
    fn write_params(
        &self,
        writer: &mut Writer<'_>,
        token: &[u8],
        new: &New<'_>,
    ) -> Result<(), WriteError> {
        let New { params, inputs, options, .. } = *new;
        // What is the application's own is not added again; two of these must not be.
        let added = Cell::new(0);
        let write_token = |writer: &mut Writer<'_>| {
            added.set(added.get() + 1);
            writer.put(token)
        };
        let only_ours =
            |wanted| if added.get() == wanted { Ok(()) } else { Err(WriteError::Value) };
        let tokens = u8::from(options.progress);
        if !writer.revision().is_modern() {
            let token = Additions { members: &[], meta: &[(PROGRESS_TOKEN, &write_token)] };
            params(
                writer,
                if options.progress { Extras::Members(&token) } else { Extras::Nothing },
            )?;
            return only_ours(tokens);
        }
        let config = self.config;
        let version = |writer: &mut Writer<'_>| {
            added.set(added.get() + 1);
            writer.string(writer.revision().as_str())
        };
        let capabilities = |writer: &mut Writer<'_>| write_value(writer, &self.capabilities());
        let info = |writer: &mut Writer<'_>| write_value(writer, &config.info);
        let level = options.log_level.or(config.log_level);
        let write_level =
            |writer: &mut Writer<'_>| writer.string(level.map_or("", LoggingLevel::as_str));
        let mut meta: [Addition<'_>; 5] = [
            (PROTOCOL_VERSION, &version),
            (CLIENT_CAPABILITIES, &capabilities),
            ("", &info),
            ("", &info),
            ("", &info),
        ];
        let mut used = 2;
        for (wanted, addition) in [
            (config.send_client_info, (CLIENT_INFO, &info as &dyn AddedValue)),
            (level.is_some(), (LOG_LEVEL, &write_level)),
            (options.progress, (PROGRESS_TOKEN, &write_token)),
        ] {
            if let Some(place) = meta.get_mut(used).filter(|_| wanted) {
                *place = addition;
                used += 1;
            }
        }
        let meta = meta.get(..used).unwrap_or_default();
        params(writer, Extras::Members(&Additions { members: inputs, meta }))?;
        only_ours(tokens + 1)
    }

    pub(super) fn capabilities(&self) -> ClientCapabilities<'c> {
        let config = self.config;
        ClientCapabilities::declared(config.capabilities, config.experimental, config.extensions)
    }
}

/// Parameters that there are none of.
pub(super) fn no_params(writer: &mut Writer<'_>, extras: Extras<'_>) -> Result<(), WriteError> {
    write_result(writer, &RawJson::EMPTY, extras)
}
