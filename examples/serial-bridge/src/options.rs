//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use mcp_sansio_relay::Timing;

use super::device::Device;

/// The parsed command line.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) device: Device,
    /// Whether the lines of the device have checksums.
    pub(crate) has_checksums: bool,
    pub(crate) timing: Timing,
    /// For pending responses after the end of the input.
    pub(crate) linger: Duration,
    pub(crate) log: Option<Log>,
}

/// Where the traffic is logged.
#[derive(Debug, PartialEq)]
pub(crate) enum Log {
    Stderr,
    File(PathBuf),
}

/// The reason why there is nothing to run.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    Help,
    Wrong(String),
}

/// Parses the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Options, Stop> {
    use lexopt::prelude::*;
    let (mut place, mut baud, mut log, mut has_checksums) = (None, None, None, false);
    let (mut timing, mut linger) = (Timing { wait: WAIT, patience: PATIENCE }, LINGER);
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => return Err(Stop::Help),
            Short('b') | Long("baud") => {
                baud = Some(parser.value().and_then(|v| v.parse()).map_err(wrong)?)
            }
            Long("checksum") => has_checksums = true,
            Long("wait") => timing.wait = seconds(&mut parser, "--wait")?,
            Long("patience") => timing.patience = seconds(&mut parser, "--patience")?,
            Long("linger") => linger = seconds(&mut parser, "--linger")?,
            Long("log") => {
                let file = parser.value().map_err(wrong)?;
                log = Some(if file == "-" { Log::Stderr } else { Log::File(file.into()) });
            }
            Value(word) if place.is_none() => place = Some(word),
            other => return Err(wrong(other.unexpected())),
        }
    }
    let Some(place) = place else {
        return Err(Stop::Wrong(format!("missing device. {}", super::trouble::ports())));
    };
    let device = Device::new(place, baud).map_err(Stop::Wrong)?;
    Ok(Options { device, has_checksums, timing, linger, log })
}

fn seconds(parser: &mut lexopt::Parser, option: &str) -> Result<Duration, Stop> {
    let given: f64 = parser.value().and_then(|v| lexopt::ValueExt::parse(&v)).map_err(wrong)?;
    Duration::try_from_secs_f64(given).map_err(|_| Stop::Wrong(format!("{option} takes seconds")))
}

fn wrong(error: lexopt::Error) -> Stop {
    Stop::Wrong(error.to_string())
}

pub(crate) const HELP: &str = r#"Connects an MCP client on this computer to an MCP server on a serial port; the client sees a server on stdio.

usage: serial-bridge [OPTIONS] DEVICE
       serial-bridge completions SHELL
       serial-bridge man

DEVICE
  /dev/ttyACM0           a serial port: 8 bits, no parity, one stop bit, no flow control, opened
                         exclusively; /dev/cu.usbmodem101 on macOS, COM3 on Windows, for example
  tcp:HOST:PORT          a line behind a TCP socket: QEMU, ser2net, or a server on TCP
  unix:PATH              a line behind a Unix socket

commands
  completions SHELL      print the completions for one of bash, fish, zsh
  man                    print a man page

options
  -b, --baud N           speed of a serial port (default 115200); USB ports ignore it
  --checksum             each line ends with a tab and its CRC-32 in hexadecimal digits, on both
                         sides, for a link that loses or changes bytes; the device must do the same
  --wait SECONDS         how long handshake requests (initialize, server/discover) wait for a device
                         that is not connected yet or still boots (default 20)
  --patience SECONDS     how long after a disconnection other requests wait for the device; later
                         ones get an error at once (default 3)
  --linger SECONDS       how long to wait for responses after the client has closed the input
                         (default 0.5)
  --log FILE             log the traffic with timestamps; - is standard error
  -h, --help             print this text

When the device is unplugged or reset, open requests end with an error, and the bridge waits for a
device of the same name. It repeats the handshake of a session, so the client need not be restarted.
Output of the device that is not a message, such as its boot log, goes to standard error.

configuration of a client (Claude Desktop: claude_desktop_config.json)
  { "mcpServers": { "board": { "command": "/path/to/serial-bridge", "args": ["/dev/ttyACM0"] } } }
  On Linux the names in /dev/serial/by-id do not depend on what else is plugged in.

examples
  serial-bridge --log board.log /dev/ttyACM0
  serial-bridge --baud 921600 /dev/ttyUSB0
  inspect tools -- serial-bridge tcp:127.0.0.1:4444
  echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | serial-bridge --linger 30 /dev/ttyACM0
"#;

const WAIT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(3);
/// Clients kill a process that does not end within a second or two.
const LINGER: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Stop> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_help_has_all_options() {
        crate::completions::tests::assert_complete(&[include_str!("options.rs")]);
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
        assert!(parsed("--checksum x").unwrap().has_checksums && !options.has_checksums);
        assert_eq!(parsed("x --help"), Err(Stop::Help));
    }

    #[test]
    fn invalid_command_lines_are_reported() {
        for (line, why) in [
            ("", "missing device"),
            ("a b", "unexpected argument \"b\""),
            ("a --baud fast", "fast"),
            ("a --baud 0", "--baud"),
            ("tcp:localhost", "HOST:PORT"),
            ("tcp:localhost:1 --baud 9600", "--baud is only for serial ports"),
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
