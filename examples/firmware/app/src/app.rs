//! The application: takes events, returns replies.

use core::time::Duration;

use mcp_sansio::typed::Tools as _;
use mcp_sansio::types::Text;
use mcp_sansio::{Instant, JsonStr, RawJson, Request, RpcError, Server, ServerEvent, Target};

use crate::IN_FLIGHT;
use crate::board::{Board, OUTPUTS};
use crate::catalog::{CATALOG, NAME, OUTPUT_STATES, PARTS, PIN_NUMBERS, REGISTERS};
use crate::reply::{Body, NAME_BYTES, Name, Registers, Reply};
use crate::sweep::{Step, Sweep};
use crate::tools::{Call, Outputs, Pin, Swept};

/// The firmware, on a board.
#[derive(Debug)]
pub struct App<B> {
    pub(crate) board: B,
    pub(crate) jobs: [Option<Sweep>; IN_FLIGHT],
    pub(crate) outputs: u32,
    pub(crate) name: Name,
    /// Number of invalid messages.
    pub(crate) refused: u32,
    /// Number of read errors.
    pub(crate) faults: u32,
    /// Time at which a reset was requested.
    pub(crate) reset: Option<Instant>,
}

/// Response to a request, or the job that makes it.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is no allocator to box it with")]
pub enum Begun<'f> {
    /// Send the reply at once.
    Reply(Reply<'f>),
    /// Call [`App::step`] whenever the job is [due](Sweep::due), until it has finished.
    Job(Sweep),
}

/// Result of a step of a job.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is no allocator to box it with")]
pub enum Stepped {
    /// The job has not finished.
    Progress {
        /// Number of completed steps.
        done: u16,
        /// Number of all steps.
        total: u16,
    },
    /// The job has finished.
    Finished(Reply<'static>),
}

impl<B: Board> App<B> {
    /// Creates the firmware in the state after a reset.
    #[must_use]
    pub const fn new(board: B) -> Self {
        let mut bytes = [0; NAME_BYTES];
        bytes.split_at_mut(5).0.copy_from_slice(b"board");
        Self {
            board,
            jobs: [None; IN_FLIGHT],
            outputs: 0,
            name: Name { bytes, len: 5 },
            refused: 0,
            faults: 0,
            reset: None,
        }
    }

    /// Returns the board.
    pub const fn board(&mut self) -> &mut B {
        &mut self.board
    }

    /// Handles an event and returns the reply to send at once. Jobs are kept for
    /// [`work`](Self::work). Not inlined, since the loop is smaller by a kilobyte then, and the
    /// stack is freed before the reply is sent.
    #[inline(never)]
    pub fn event<'f>(&mut self, event: ServerEvent<'f>, now: Instant) -> Option<Reply<'f>> {
        match event {
            ServerEvent::Request(request) => match self.find(&request, now) {
                Begun::Reply(reply) => return Some(reply),
                Begun::Job(job) => match self.jobs.iter_mut().find(|job| job.is_none()) {
                    Some(free) => *free = Some(job),
                    None => {
                        return Some(Reply::new(
                            request.handle,
                            Body::Tool(Err(
                                "Too much is being done already: try again later".into()
                            )),
                        ));
                    }
                },
            },
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                for job in &mut self.jobs {
                    job.take_if(|job| job.request == request);
                }
            }
            ServerEvent::Violation(_) => self.refused(),
            _ => {}
        }
        None
    }

    /// Counts an invalid message.
    pub fn refused(&mut self) {
        self.refused = self.refused.saturating_add(1);
    }

    /// Counts a read error.
    pub fn fault(&mut self) {
        self.faults = self.faults.saturating_add(1);
    }

    /// Runs a step of a job that is due and returns the reply to send. Call it until it returns
    /// `None`.
    pub fn work(&mut self, server: &Server<'_>, now: Instant) -> Option<Reply<'static>> {
        self.reset_if_due(now);
        for place in 0..IN_FLIGHT {
            let Some(entry) = self.jobs.get_mut(place) else { break };
            // The request is over, e.g. because the peer has connected again.
            entry.take_if(|job| !server.is_request_open(job.request));
            let Some(mut job) = *entry else { continue };
            let stepped = self.step(&mut job, now);
            let is_finished = matches!(stepped, Some(Stepped::Finished(_)));
            if let Some(entry) = self.jobs.get_mut(place) {
                *entry = (!is_finished).then_some(job);
            }
            return Some(match stepped {
                None => continue,
                Some(Stepped::Progress { done, total }) => {
                    Reply::new(job.request, Body::Progress { now, done, total })
                }
                Some(Stepped::Finished(reply)) => reply,
            });
        }
        None
    }

    /// Runs a step of a job, if it is due.
    pub fn step(&mut self, job: &mut Sweep, now: Instant) -> Option<Stepped> {
        let total = job.steps;
        Some(match job.poll(now)? {
            Step::Invert { output, done } => {
                let was = self.outputs >> output & 1 == 1;
                self.set_output(output, !was);
                Stepped::Progress { done, total }
            }
            Step::Finish => {
                let reply = Reply::new(job.request, Body::structured(Swept { steps: total }));
                Stepped::Finished(reply.changes(OUTPUT_STATES).log("swept"))
            }
        })
    }

    /// Resets the board, if that was requested and the response has been sent.
    pub fn reset_if_due(&mut self, now: Instant) {
        if self.reset_due().is_some_and(|due| now >= due) {
            self.reset = None;
            self.board.reset();
        }
    }

    /// Returns when to reset the board.
    #[must_use]
    pub fn reset_due(&self) -> Option<Instant> {
        self.reset.map(|asked| asked.saturating_add(BEFORE_RESET))
    }

    /// Returns when [`work`](Self::work) has something to do.
    #[must_use]
    pub fn wake(&self) -> Option<Instant> {
        self.jobs.iter().flatten().map(Sweep::due).chain(self.reset_due()).min()
    }

    fn find<'f>(&mut self, request: &Request<'f>, now: Instant) -> Begun<'f> {
        match CATALOG.target(request) {
            Ok(target) => self.begin(target, request, now),
            Err(error) => Begun::Reply(Reply::new(request.handle, Body::Error(error))),
        }
    }

    /// Handles a request for this entry of the [catalog](CATALOG).
    pub fn begin<'f>(
        &mut self,
        target: Target<'f>,
        request: &Request<'f>,
        now: Instant,
    ) -> Begun<'f> {
        let uri = request.uri();
        let body = match (target, uri) {
            (Target::Tool(_), _) => match Call::from_request(request) {
                Some(Ok(call)) => return self.call(call, request.handle, now),
                Some(Err(faults)) => Body::Tool(Err(faults.into())),
                None => Body::Catalog(*request),
            },
            (Target::Resource(resource), Some(uri)) => self.read(resource.key(), uri),
            (Target::Template(_), Some(uri)) => {
                match target.variable("number", uri).and_then(decimal) {
                    Some(number) => {
                        Body::Contents(uri, Pin { number, high: self.board.pin(number) }.into())
                    }
                    None => Body::Error(RpcError::resource_not_found(uri)),
                }
            }
            (Target::Prompt(_), _) => Body::Explain(
                request
                    .arguments()
                    .get("part")
                    .and_then(RawJson::as_string)
                    .map_or(Text::default(), Text::from),
            ),
            (Target::CompletePrompt(_), _) => Body::Complete(&PARTS, typed(request)),
            (Target::CompleteTemplate(_), _) => Body::Complete(&PIN_NUMBERS, typed(request)),
            _ => Body::Catalog(*request),
        };
        Begun::Reply(Reply::new(request.handle, body))
    }

    fn read<'f>(&mut self, resource: Text<'_>, uri: JsonStr<'f>) -> Body<'f> {
        match resource.as_plain() {
            Some(NAME) => Body::Name(uri, self.name),
            Some(OUTPUT_STATES) => Body::Contents(uri, Outputs { mask: self.outputs }.into()),
            Some(REGISTERS) => Body::Registers(uri, Registers(self.board.registers())),
            _ => Body::File,
        }
    }

    /// Switches an output. Returns whether it was on.
    pub(crate) fn set_output(&mut self, number: u8, on: bool) -> bool {
        let bit = 1 << (number & 31);
        let was = self.outputs & bit != 0;
        self.outputs = if on { self.outputs | bit } else { self.outputs & !bit };
        self.board.set_output(number, on);
        was
    }
}

/// Returns the value to complete.
fn typed<'f>(request: &Request<'f>) -> JsonStr<'f> {
    let value = request
        .params
        .get("argument")
        .and_then(|argument| argument.get("value"))
        .and_then(RawJson::as_string);
    value.unwrap_or(EMPTY)
}

/// Parses the number of a pin, in one or two digits.
fn decimal(digits: impl Iterator<Item = char>) -> Option<u8> {
    let mut number = None;
    for c in digits {
        let digit = u8::try_from(c.to_digit(10)?).ok()?;
        number = Some(number.unwrap_or(0u8).checked_mul(10)?.checked_add(digit)?);
    }
    number.filter(|number| *number < OUTPUTS)
}

const EMPTY: JsonStr<'static> = JsonStr::from_static("\"\"");
/// Time in which the response to the call is sent.
const BEFORE_RESET: Duration = Duration::from_millis(50);
