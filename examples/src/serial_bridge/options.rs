//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::device::Device;

/// What the person wants.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) device: Device,
    pub(crate) timing: Timing,
    pub(crate) log: Option<Log>,
}

/// How long what is waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// By a request that opens a conversation, and by any until the device has been there once.
    pub(crate) wait: Duration,
    /// By any other request, from the moment at which the device went away.
    pub(crate) patience: Duration,
    /// By the process, for answers, when its input has ended.
    pub(crate) linger: Duration,
}

/// Where the traffic is written down.
#[derive(Debug, PartialEq)]
pub(crate) enum Log {
    Stderr,
    File(PathBuf),
}

/// Why there is nothing to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    Help,
    Wrong(String),
}

/// What the command line says, or the text that is to be printed instead.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Options, Stop> {
    use lexopt::prelude::*;
    let (mut place, mut baud, mut log) = (None, None, None);
    let mut timing = Timing { wait: WAIT, patience: PATIENCE, linger: LINGER };
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => return Err(Stop::Help),
            Short('b') | Long("baud") => {
                baud = Some(parser.value().and_then(|v| v.parse()).map_err(wrong)?)
            }
            Long("wait") => timing.wait = seconds(&mut parser, "--wait")?,
            Long("patience") => timing.patience = seconds(&mut parser, "--patience")?,
            Long("linger") => timing.linger = seconds(&mut parser, "--linger")?,
            Long("log") => {
                let file = parser.value().map_err(wrong)?;
                log = Some(if file == "-" { Log::Stderr } else { Log::File(file.into()) });
            }
            Value(word) if place.is_none() => place = Some(word),
            other => return Err(wrong(other.unexpected())),
        }
    }
    let Some(place) = place else {
        return Err(Stop::Wrong(format!("which device? {}", super::trouble::ports())));
    };
    Ok(Options { device: Device::new(place, baud).map_err(Stop::Wrong)?, timing, log })
}

fn seconds(parser: &mut lexopt::Parser, option: &str) -> Result<Duration, Stop> {
    let given: f64 = parser.value().and_then(|v| lexopt::ValueExt::parse(&v)).map_err(wrong)?;
    Duration::try_from_secs_f64(given).map_err(|_| Stop::Wrong(format!("{option} takes seconds")))
}

fn wrong(error: lexopt::Error) -> Stop {
    Stop::Wrong(error.to_string())
}

pub(crate) const HELP: &str = r#"Connects an MCP client on this computer with an MCP server on a serial port: to the client it is a server on stdio.

usage: serial-bridge [OPTIONS] DEVICE

DEVICE
  /dev/ttyACM0           a serial port: 8 bits, no parity, one stop bit, no flow control, and nobody else may use it.
                         On macOS /dev/cu.usbmodem101 or the like, on Windows COM3
  tcp:HOST:PORT          the same line behind a socket: QEMU, ser2net, or a server on TCP
  unix:PATH              the same on a Unix socket

options
  -b, --baud N           speed of a serial port (115200); a USB port does without
  --wait SECONDS         how long the first requests, initialize and server/discover wait for a device that is not there
                         yet, or boots (20)
  --patience SECONDS     for how long after the device has gone other requests wait for it; later ones are answered with
                         an error at once (3)
  --linger SECONDS       how long answers are waited for when the client has closed the input (0.5)
  --log FILE             writes down what passes, with the time; - is standard error
  -h, --help

When the device is unplugged or reset, what was being worked on is answered with an error, and the device is waited for
under the same name. A session that was opened with initialize is opened again on it: the client need not be restarted.
What a device says that is no message, such as its boot log, goes to standard error.

in the configuration of a client (Claude Desktop: claude_desktop_config.json)
  { "mcpServers": { "board": { "command": "/path/to/serial-bridge", "args": ["/dev/ttyACM0"] } } }
  On Linux the names below /dev/serial/by-id stay the same whatever else is plugged in.

examples
  serial-bridge --log board.log /dev/ttyACM0
  serial-bridge --baud 921600 /dev/ttyUSB0
  inspect tools -- serial-bridge tcp:127.0.0.1:4444
  echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | serial-bridge --linger 30 /dev/ttyACM0
"#;

const WAIT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(3);
/// Clients kill what does not end within a second or two.
const LINGER: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Stop> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_device_is_a_port_or_a_socket() {
        let options = parsed("--wait 0.5 /dev/ttyACM0 -b 9600 --log -").unwrap();
        assert_eq!(options.device, Device::Serial { path: "/dev/ttyACM0".into(), baud: 9600 });
        assert_eq!(
            (options.timing.wait, options.log),
            (Duration::from_millis(500), Some(Log::Stderr))
        );
        assert_eq!(
            parsed("COM3").unwrap().device,
            Device::Serial { path: "COM3".into(), baud: 115_200 }
        );
        assert_eq!(parsed("tcp:[::1]:80").unwrap().device, Device::Tcp("[::1]:80".into()));
        assert_eq!(parsed("unix:/run/board").unwrap().device, Device::Unix("/run/board".into()));
        assert_eq!(parsed("x --help"), Err(Stop::Help));
    }

    #[test]
    fn a_line_that_makes_no_sense_says_why() {
        for (line, why) in [
            ("", "which device?"),
            ("a b", "unexpected argument \"b\""),
            ("a --baud fast", "fast"),
            ("a --baud 0", "--baud"),
            ("tcp:localhost", "HOST:PORT"),
            ("tcp:localhost:1 --baud 9600", "--baud is for serial ports"),
            ("unix:", "PATH"),
            ("a --wait -1", "--wait takes seconds"),
            ("a --frob", "--frob"),
        ] {
            match parsed(line) {
                Err(Stop::Wrong(said)) => assert!(said.contains(why), "{line}: {said}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
