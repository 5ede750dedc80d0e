//! How a client comes to be.

use std::fmt;

use mcp_sansio::{ClientConfig, Era, Instant};

use super::driver::Driver;
use super::{Client, Error, Handler, MAX_LINE, Transport};

/// What a client is given before it connects:
/// `Connector::new(&CONFIG).handler(ask).connect(Process::new(command))`.
pub struct Connector<'c> {
    config: &'c ClientConfig<'c>,
    handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    era: Option<Era>,
    max_line: usize,
    clock: Box<Clock<'c>>,
}

/// A clock, which counts from anywhere.
pub type Clock<'c> = dyn Fn() -> Instant + Send + 'c;

/// What is shown each message that passes, without its line end.
pub type Trace<'c> = dyn FnMut(Direction, &[u8]) + Send + 'c;

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// To the server. When it is written down, which may be before the server reads it.
    Sent,
    /// From the server, noise included; of a line that is too long, the beginning.
    Received,
}

impl<'c> Connector<'c> {
    /// Without a handler, and without a trace.
    #[must_use]
    pub fn new(config: &'c ClientConfig<'c>) -> Self {
        let begun = std::time::Instant::now();
        let clock = move || {
            Instant::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
        };
        Self {
            config,
            handler: Box::new(()),
            trace: None,
            era: None,
            max_line: MAX_LINE,
            clock: Box::new(clock),
        }
    }

    /// Who answers the server's questions and hears what else comes.
    #[must_use]
    pub fn handler(self, handler: impl Handler + 'c) -> Self {
        Self { handler: Box::new(handler), ..self }
    }

    /// Who is shown each message.
    #[must_use]
    pub fn trace(self, trace: impl FnMut(Direction, &[u8]) + Send + 'c) -> Self {
        Self { trace: Some(Box::new(trace)), ..self }
    }

    /// The era of the server, where it is known ([`Client::era`]): it is not asked then.
    #[must_use]
    pub fn era(self, era: Era) -> Self {
        Self { era: Some(era), ..self }
    }

    /// The longest line accepted. Default: [`MAX_LINE`].
    #[must_use]
    pub fn max_line(self, max_line: usize) -> Self {
        Self { max_line, ..self }
    }

    /// Sets the clock, for tests and simulations: time limits are those of this clock, and so are
    /// the waits that a [`Transport`] is asked for. Default: the monotonic clock of the system.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> Instant + Send + 'c) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Connects to the server and finds out what it speaks.
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::ConnectFailed`], [`Error::Closed`].
    pub fn connect(self, transport: impl Transport + 'c) -> Result<Client<'c>, Error> {
        let mut driver = Driver::new(self.config, self.handler, self.trace, self.clock);
        driver.machine.set_era(self.era);
        Client::open(driver, Box::new(transport), self.max_line)
    }
}

impl fmt::Debug for Connector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("config", self.config)
            .field("era", &self.era)
            .finish_non_exhaustive()
    }
}
