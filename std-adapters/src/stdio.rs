//! Standard input and output of the process, as long as a server has them.

use std::env;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
#[cfg(unix)]
use std::os::fd::AsFd as _;
#[cfg(windows)]
use std::os::windows::io::AsHandle as _;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use rustix::stdio::{dup2_stdin, dup2_stdout};
#[cfg(windows)]
use stdio_utils::{Guard, StdioOverride as _};

/// Whether a server has the standard streams.
static ARE_TAKEN: AtomicBool = AtomicBool::new(false);

/// Standard input and output, which only a server uses until this is dropped. The rest of the
/// program, its libraries and children get an empty input, and what they write to standard output
/// goes to standard error, so that it cannot break the stream of messages. On Windows code in C
/// still has them, since its runtime keeps the handles with which the program began.
pub(crate) struct StandardStreams {
    /// Without a buffer.
    pub(crate) input: File,
    /// Without a buffer.
    pub(crate) output: File,
    /// Give the streams back, after [`Drop::drop`] of this.
    #[cfg(windows)]
    _replaced: [Guard; 2],
    /// Dropped last.
    _claim: Claim,
}

impl StandardStreams {
    /// Takes the streams, and tells a person at a terminal what the program is.
    ///
    /// # Errors
    /// [`ErrorKind::ResourceBusy`] if another server of this process has them; errors of the
    /// operating system.
    pub(crate) fn take() -> io::Result<Self> {
        let claim = Claim::new()?;
        if io::stdin().is_terminal() {
            explain();
        }
        #[cfg(unix)]
        let (input, output) =
            (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
        #[cfg(windows)]
        let (input, output) = (
            io::stdin().as_handle().try_clone_to_owned()?,
            io::stdout().as_handle().try_clone_to_owned()?,
        );
        let streams = Self {
            input: input.into(),
            output: output.into(),
            #[cfg(windows)]
            _replaced: [File::open("NUL")?.override_stdin()?, io::stderr().override_stdout()?],
            _claim: claim,
        };
        #[cfg(unix)]
        {
            dup2_stdin(File::open("/dev/null")?)?;
            dup2_stdout(io::stderr())?;
        }
        flush();
        Ok(streams)
    }
}

/// Gives the streams back.
impl Drop for StandardStreams {
    fn drop(&mut self) {
        flush();
        #[cfg(unix)]
        {
            let _ = dup2_stdin(&self.input);
            let _ = dup2_stdout(&self.output);
        }
    }
}

/// Writes the unfinished line that `print!` keeps: to standard error, where standard output leads
/// meanwhile.
fn flush() {
    let _ = io::stdout().flush();
}

/// The right to take the streams.
struct Claim;

impl Claim {
    fn new() -> io::Result<Self> {
        if ARE_TAKEN.swap(true, Ordering::AcqRel) {
            let why = "standard input and output are those of another server of this process";
            return Err(io::Error::new(ErrorKind::ResourceBusy, why));
        }
        Ok(Self)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        ARE_TAKEN.store(false, Ordering::Release);
    }
}

fn explain() {
    let program = env::args_os().next().unwrap_or_default();
    let program = program.display();
    let _ = writeln!(
        io::stderr(),
        "{program} is an MCP server: it waits for the messages of a client that starts it. \
         To try it: inspect -- {program}"
    );
}
