//! The application: events in, replies out.

use core::time::Duration;

use mcp_sansio::types::Text;
use mcp_sansio::{Instant, JsonStr, RawJson, Request, RpcError, ServerEvent, Target};

use crate::board::{Board, OUTPUTS};
use crate::catalog::{CATALOG, NAME, OUTPUT_STATES, PARTS, PIN_NUMBERS, REGISTERS};
use crate::reply::{Body, Data, NAME_BYTES, Name, Registers, Reply};
use crate::sweep::{Step, Sweep};
use crate::{AppServer, IN_FLIGHT};

/// The firmware, on a board.
#[derive(Debug)]
pub struct App<B> {
    pub(crate) board: B,
    pub(crate) jobs: [Option<Sweep>; IN_FLIGHT],
    pub(crate) outputs: u32,
    pub(crate) name: Name,
    /// Messages that could not be read.
    pub(crate) refused: u32,
    /// Errors of the receiver.
    pub(crate) faults: u32,
    /// When a reset was asked for.
    pub(crate) reset: Option<Instant>,
}

/// What becomes of a request.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is no allocator to box it with")]
pub enum Begun<'f> {
    /// It is answered at once.
    Reply(Reply<'f>),
    /// It takes its time: [`App::step`], when it is [due](Sweep::due), until it is finished.
    Job(Sweep),
}

/// What a step of a job came to.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is no allocator to box it with")]
pub enum Stepped {
    /// So much is done.
    Progress {
        /// Steps that are done.
        done: u16,
        /// All steps.
        total: u16,
    },
    /// That was the last.
    Finished(Reply<'static>),
}

impl<B: Board> App<B> {
    /// The firmware on this board, just switched on.
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

    /// The board.
    pub const fn board(&mut self) -> &mut B {
        &mut self.board
    }

    /// Something happened; what is to be sent about it at once. Jobs are kept, and
    /// [`work`](Self::work) does them.
    pub fn event<'f>(&mut self, event: ServerEvent<'f>, now: Instant) -> Option<Reply<'f>> {
        match event {
            ServerEvent::Request(request) => match self.find(&request, now) {
                Begun::Reply(reply) => return Some(reply),
                Begun::Job(job) => match self.jobs.iter_mut().find(|job| job.is_none()) {
                    Some(free) => *free = Some(job),
                    None => {
                        return Some(Reply::new(
                            request.handle,
                            Body::Failure("Too much is being done already: try again later"),
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

    /// A message could not be read.
    pub fn refused(&mut self) {
        self.refused = self.refused.saturating_add(1);
    }

    /// The receiver lost bytes.
    pub fn fault(&mut self) {
        self.faults = self.faults.saturating_add(1);
    }

    /// What is due. Send the reply, and ask again, until there is none.
    pub fn work(&mut self, server: &AppServer<'_>, now: Instant) -> Option<Reply<'static>> {
        self.reset_if_due(now);
        for place in 0..IN_FLIGHT {
            let Some(entry) = self.jobs.get_mut(place) else { break };
            // Nobody waits for it any more: the peer has started again.
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

    /// A step of a job, when it is due.
    pub fn step(&mut self, job: &mut Sweep, now: Instant) -> Option<Stepped> {
        let total = job.steps;
        Some(match job.poll(now)? {
            Step::Invert { output, done } => {
                let was = self.outputs >> output & 1 == 1;
                self.set_output(output, !was);
                Stepped::Progress { done, total }
            }
            Step::Finish => {
                let reply = Reply::new(job.request, Body::Data(Data::Swept { steps: total }));
                Stepped::Finished(reply.changes(OUTPUT_STATES).log("swept"))
            }
        })
    }

    /// Starts the board again, when that was asked for and the answer has left.
    pub fn reset_if_due(&mut self, now: Instant) {
        if self.reset_due().is_some_and(|due| now >= due) {
            self.reset = None;
            self.board.reset();
        }
    }

    /// When the board is to be started again.
    #[must_use]
    pub fn reset_due(&self) -> Option<Instant> {
        self.reset.map(|asked| asked.saturating_add(BEFORE_RESET))
    }

    /// When [`work`](Self::work) has something to do.
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

    /// Handles a request, which is about this entry of the [catalog](CATALOG).
    pub fn begin<'f>(
        &mut self,
        target: Target<'f>,
        request: &Request<'f>,
        now: Instant,
    ) -> Begun<'f> {
        let uri = request.uri();
        let body = match (target, uri) {
            (Target::Tool(tool), _) => return self.call(tool, request, now),
            (Target::Resource(resource), Some(uri)) => self.read(resource.uri, uri),
            (Target::Template(_), Some(uri)) => {
                match target.variable("number", uri).and_then(decimal) {
                    Some(number) => {
                        Body::Contents(uri, Data::Pin { number, high: self.board.pin(number) })
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
            Some(OUTPUT_STATES) => Body::Contents(uri, Data::Outputs { mask: self.outputs }),
            Some(REGISTERS) => Body::Registers(uri, Registers(self.board.registers())),
            _ => Body::File,
        }
    }

    /// Returns whether it was on.
    pub(crate) fn set_output(&mut self, number: u8, on: bool) -> bool {
        let bit = 1 << (number & 31);
        let was = self.outputs & bit != 0;
        self.outputs = if on { self.outputs | bit } else { self.outputs & !bit };
        self.board.set_output(number, on);
        was
    }
}

/// What the person has typed so far.
fn typed<'f>(request: &Request<'f>) -> JsonStr<'f> {
    let value = request
        .params
        .get("argument")
        .and_then(|argument| argument.get("value"))
        .and_then(RawJson::as_string);
    value.unwrap_or(EMPTY)
}

/// The number of a pin, in one or two digits.
fn decimal(digits: impl Iterator<Item = char>) -> Option<u8> {
    let mut number = None;
    for c in digits {
        let digit = u8::try_from(c.to_digit(10)?).ok()?;
        number = Some(number.unwrap_or(0u8).checked_mul(10)?.checked_add(digit)?);
    }
    number.filter(|number| *number < OUTPUTS)
}

const EMPTY: JsonStr<'static> = JsonStr::from_static("\"\"");
/// The answer to the call must have left by then.
const BEFORE_RESET: Duration = Duration::from_millis(50);
