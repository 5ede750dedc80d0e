//! Why the device cannot be reached, and what to do about it.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use serial2::SerialPort;

#[derive(Debug)]
pub(crate) enum Trouble {
    /// A serial port could not be opened.
    Open(PathBuf, io::Error),
    /// It does not do this speed.
    Speed(u32, io::Error),
    /// A socket could not be connected.
    Connect(String, io::Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(path, error) => {
                let path = path.display();
                match error.kind() {
                    ErrorKind::NotFound => {
                        write!(f, "there is no {path}. Is it plugged in? {}", ports())
                    }
                    ErrorKind::PermissionDenied if cfg!(target_os = "linux") => {
                        write!(
                            f,
                            "you may not open {path}. Add yourself to the group dialout (sudo usermod -aG dialout $USER; the "
                        )?;
                        f.write_str("group is uucp on some systems) and log in again")
                    }
                    ErrorKind::PermissionDenied => {
                        write!(f, "you may not open {path}, or another program uses it")
                    }
                    ErrorKind::ResourceBusy => {
                        write!(f, "another program uses {path}, maybe a serial monitor: close it")?;
                        if cfg!(unix) { write!(f, " (fuser {path} says which)") } else { Ok(()) }
                    }
                    _ if error.raw_os_error() == Some(NOT_A_TERMINAL) => {
                        write!(f, "{path} is no serial port. {}", ports())
                    }
                    _ => write!(f, "{path} cannot be opened: {error}"),
                }
            }
            Self::Speed(baud, error) => {
                write!(
                    f,
                    "the port does not do {baud} baud ({error}). Try --baud 115200, and the same in the firmware"
                )
            }
            Self::Connect(place, error) => match error.kind() {
                ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
                    write!(
                        f,
                        "nobody listens at {place} ({error}). Is QEMU, or whatever stands there, running?"
                    )
                }
                _ => write!(f, "{place} cannot be reached: {error}"),
            },
        }
    }
}

/// The serial ports of this computer, as a sentence.
pub(crate) fn ports() -> String {
    let mut ports: Vec<_> = SerialPort::available_ports().unwrap_or_default();
    ports.sort();
    let names: Vec<_> = ports.iter().map(|port| port.display().to_string()).collect();
    if names.is_empty() {
        "No serial port is here".to_owned()
    } else {
        format!("Serial ports here: {}", names.join(", "))
    }
}

/// ENOTTY, the same on all systems that have it.
const NOT_A_TERMINAL: i32 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_says_what_to_do() {
        let open = |kind: ErrorKind| Trouble::Open("/dev/ttyX".into(), kind.into()).to_string();
        assert!(open(ErrorKind::NotFound).starts_with("there is no /dev/ttyX. Is it plugged in? "));
        #[cfg(target_os = "linux")]
        assert!(open(ErrorKind::PermissionDenied).contains("group dialout"));
        assert!(open(ErrorKind::ResourceBusy).contains("serial monitor: close it"));
        assert!(open(ErrorKind::Other).contains("cannot be opened"));
        let not = Trouble::Open("/dev/null".into(), io::Error::from_raw_os_error(NOT_A_TERMINAL))
            .to_string();
        assert!(not.contains("/dev/null is no serial port"), "{not}");
        let speed = Trouble::Speed(7, ErrorKind::Other.into()).to_string();
        assert!(speed.contains("does not do 7 baud") && speed.contains("--baud 115200"), "{speed}");
        let refused =
            Trouble::Connect("h:1".into(), ErrorKind::ConnectionRefused.into()).to_string();
        assert!(refused.contains("nobody listens at h:1"), "{refused}");
    }
}
