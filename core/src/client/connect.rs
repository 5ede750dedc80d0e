//! Opening of a connection: the probe, `initialize`, and the responses to them.

use super::call::NewCall;
use super::config::CallOptions;
use super::event::{ClientEvent, ConnectError, Connected};
use super::inflight::CallKind;
use super::{Client, Connection, Phase};
use crate::encode::object;
use crate::error::{NotAllowed, SendError};
use crate::inflight::Slot;
use crate::json::RawJson;
use crate::lifecycle::{Era, Revision, Revisions};
use crate::rpc::PeerError;
use crate::time::Instant;
use crate::tx::{Tx, WriterId};
use crate::violation::Violation;

impl Client<'_> {
    /// Starts the connection: sends `server/discover` if the server may be a modern one, else
    /// `initialize`. [`ClientEvent::Connected`] or [`ClientEvent::ConnectFailed`] follows. If the
    /// era is [set](Self::set_era) to modern, nothing is sent: the client is connected at once,
    /// without an event.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] when the client is connected or connecting ([`close`](Self::close)
    /// it first), and when the configuration has no revision of the era.
    /// [`SendError::TooManyCalls`] when the table is full. [`SendError::Full`]: drain and call
    /// again.
    pub fn connect(&mut self, now: Instant, tx: &mut Tx<'_>) -> Result<(), SendError> {
        if !matches!(self.peer.phase, Phase::Closed) {
            return Err(SendError::NotAllowed(NotAllowed::AlreadyOpen));
        }
        let ours = self.config.revisions;
        let modern = ours.contains(Revision::LATEST);
        match (self.peer.era, ours.newest_legacy()) {
            (Some(Era::Modern), _) if modern => {
                self.peer.phase =
                    Phase::Open(Connection { revision: Revision::LATEST, capabilities: None });
                Ok(())
            }
            (None, _) if modern => self.probe(now, None, tx),
            (_, Some(offered)) => self.initialize(now, offered, None, tx),
            _ => Err(SendError::NotAllowed(NotAllowed::Revision)),
        }
    }

    /// Sends `server/discover`. 2026-07-28, basic/transports/stdio: a client that may meet a legacy
    /// server probes before it sends anything else.
    fn probe(
        &mut self,
        now: Instant,
        replaces: Option<Slot>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let options = CallOptions::new().timeout(self.config.probe_timeout);
        let new = NewCall::request("server/discover", &RawJson::EMPTY, Revision::LATEST);
        self.send_call(now, &NewCall { kind: CallKind::Connect, options, replaces, ..new }, tx)?;
        self.peer.phase = Phase::Probing;
        Ok(())
    }

    /// Sends `initialize` with a legacy revision, in place of the call in `replaces`.
    pub(super) fn initialize(
        &mut self,
        now: Instant,
        offered: Revision,
        replaces: Option<Slot>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        // A partly written `initialize` keeps its revision.
        let offered = if tx.is_open(WriterId::CONNECT) { self.peer.offering } else { offered };
        self.peer.offering = offered;
        let (capabilities, info) = (self.capabilities(), &self.config.info);
        let params = object!({
            "protocolVersion": offered.as_str(),
            "capabilities": capabilities,
            "clientInfo": info,
        });
        let new = NewCall {
            kind: CallKind::Connect,
            replaces,
            ..NewCall::request("initialize", &params, offered)
        };
        self.send_call(now, &new, tx)?;
        self.peer.phase = Phase::Initializing(offered);
        Ok(())
    }

    /// Handles the response to the probe or to `initialize`.
    pub(super) fn connect_response<'f>(
        &mut self,
        now: Instant,
        slot: Slot,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'f>>, SendError> {
        let next = match self.peer.phase {
            Phase::Probing => self.probe_response(outcome, tx),
            Phase::Initializing(offered) => self.initialize_response(offered, outcome),
            // `close` has removed the calls: no response gets here.
            Phase::Closed | Phase::Open(_) => return Ok(None),
        };
        let number = self.calls.get(slot).map_or(0, |outgoing| outgoing.number);
        let event = match next {
            NextStep::Offer(revision) => {
                // The result of a modern server that arrives while `initialize` is partly written.
                let late = outcome.ok().filter(|result| {
                    matches!(self.peer.phase, Phase::Probing)
                        && result
                            .get("supportedVersions")
                            .is_some_and(|theirs| lists(theirs, Revision::LATEST))
                });
                self.initialize(now, revision, Some(slot), tx)?;
                late.map(ClientEvent::UnexpectedDiscovery)
            }
            NextStep::Probe => {
                self.probe(now, Some(slot), tx)?;
                self.peer.era = None;
                None
            }
            NextStep::Open(opened) => {
                let Connected { revision, capabilities, .. } = opened;
                if !revision.is_modern() {
                    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
                        writer
                            .put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
                    })?;
                }
                self.calls.remove(slot);
                self.peer.era = Some(revision.era());
                self.peer.phase =
                    Phase::Open(Connection { revision, capabilities: Some(capabilities) });
                Some(ClientEvent::Connected(opened))
            }
            NextStep::Fail(error) => {
                self.calls.remove(slot);
                self.peer.phase = Phase::Closed;
                Some(ClientEvent::ConnectFailed(error))
            }
        };
        // The replaced call has its response: it is not abandoned.
        self.abandoned_ids.remove(number);
        Ok(event)
    }

    /// Handles the response to the probe. 2026-07-28, basic/versioning and basic/transports/stdio:
    /// any error that modern servers do not send means a legacy server.
    fn probe_response<'f>(
        &self,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
        tx: &Tx<'_>,
    ) -> NextStep<'f> {
        let ours = self.config.revisions;
        let legacy = match ours.newest_legacy() {
            Some(newest) => NextStep::Offer(newest),
            None => NextStep::Fail(ConnectError::NoCommonRevision(None)),
        };
        // The timeout has replaced the probe already, even if `initialize` is only partly written.
        if tx.is_open(WriterId::CONNECT) {
            return legacy;
        }
        let (theirs, error) = match outcome {
            Ok(result) => {
                match result.get("supportedVersions").filter(|versions| versions.is_array()) {
                    Some(_) if !is_complete(result) => {
                        return NextStep::Fail(ConnectError::Invalid(Violation::UnknownResultType));
                    }
                    Some(theirs) if lists(theirs, Revision::LATEST) => {
                        return NextStep::Open(Connected::new(Revision::LATEST, result));
                    }
                    Some(theirs) => (Some(theirs), ConnectError::NoCommonRevision(Some(theirs))),
                    None => return legacy,
                }
            }
            Err(error) if MODERN_ERRORS.contains(&error.code()) => {
                let theirs = error.data().and_then(|data| data.get("supported"));
                let none = error.code() == UNSUPPORTED && theirs.is_some();
                (
                    theirs,
                    if none {
                        ConnectError::NoCommonRevision(theirs)
                    } else {
                        ConnectError::Refused(error)
                    },
                )
            }
            Err(_) => return legacy,
        };
        match theirs.and_then(|theirs| newest_common(ours, theirs, None)) {
            Some(common) => NextStep::Offer(common),
            None => NextStep::Fail(error),
        }
    }

    /// Handles the response to `initialize`. Legacy, basic/lifecycle: the server selects the
    /// revision; the client disconnects if it does not support it.
    fn initialize_response<'f>(
        &self,
        offered: Revision,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
    ) -> NextStep<'f> {
        let ours = self.config.revisions;
        match outcome {
            Ok(result) => {
                let Some(version) =
                    result.get("protocolVersion").filter(|version| version.as_string().is_some())
                else {
                    return NextStep::Fail(ConnectError::Invalid(Violation::InvalidResult));
                };
                match version.as_string().and_then(Revision::from_json) {
                    Some(revision) if !revision.is_modern() && ours.contains(revision) => {
                        NextStep::Open(Connected::new(revision, result))
                    }
                    _ => NextStep::Fail(ConnectError::NoCommonRevision(Some(version))),
                }
            }
            Err(error) => match error.data().and_then(|data| data.get("supported")) {
                // The era was set to legacy, but the server is a modern one.
                Some(theirs)
                    if self.peer.era == Some(Era::Legacy)
                        && ours.contains(Revision::LATEST)
                        && lists(theirs, Revision::LATEST) =>
                {
                    NextStep::Probe
                }
                Some(theirs) => match newest_common(ours, theirs, Some(offered)) {
                    Some(older) => NextStep::Offer(older),
                    None => NextStep::Fail(ConnectError::NoCommonRevision(Some(theirs))),
                },
                None => NextStep::Fail(ConnectError::Refused(error)),
            },
        }
    }

    /// Handles the timeout of the probe or of `initialize`.
    pub(super) fn connect_timed_out(
        &mut self,
        now: Instant,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'static>>, SendError> {
        if let (Phase::Probing, Some(newest)) =
            (self.peer.phase, self.config.revisions.newest_legacy())
        {
            return self.initialize(now, newest, Some(slot), tx).map(|()| None);
        }
        // `notifications/initialized` may be partly written: then the connection opens. Otherwise
        // the buffer drains, and the next call gets here again.
        if tx.has_open() {
            return Err(SendError::Full);
        }
        self.abandon_call(slot);
        self.peer.phase = Phase::Closed;
        Ok(Some(ClientEvent::ConnectFailed(ConnectError::TimedOut)))
    }
}

/// Next step of the connection.
enum NextStep<'f> {
    Offer(Revision),
    Probe,
    Open(Connected<'f>),
    Fail(ConnectError<'f>),
}

/// Codes of errors that only modern servers send.
const MODERN_ERRORS: core::ops::RangeInclusive<i64> = UNSUPPORTED..=-32020;
const UNSUPPORTED: i64 = -32022;

/// 2026-07-28, basic: a result without `resultType` is complete; no other type is valid for a
/// probe.
fn is_complete(result: RawJson<'_>) -> bool {
    result
        .get("resultType")
        .is_none_or(|kind| kind.as_string().is_some_and(|kind| kind == "complete"))
}

fn lists(versions: RawJson<'_>, revision: Revision) -> bool {
    versions
        .elements()
        .any(|version| version.as_string().is_some_and(|version| version == revision.as_str()))
}

/// Returns the newest legacy revision that both support, older than `than`.
fn newest_common(ours: Revisions, theirs: RawJson<'_>, than: Option<Revision>) -> Option<Revision> {
    ours.iter().find(|revision| {
        !revision.is_modern()
            && than.is_none_or(|than| *revision < than)
            && lists(theirs, *revision)
    })
}
