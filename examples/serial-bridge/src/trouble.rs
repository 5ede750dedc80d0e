//! Errors of reaching the device, with advice.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use serial2::SerialPort;

#[derive(Debug)]
pub(crate) enum Trouble {
    /// A serial port could not be opened.
    Open(PathBuf, io::Error),
    /// The port does not support this speed.
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
                        write!(f, "{path} does not exist. Is the device plugged in? {}", ports())
                    }
                    ErrorKind::PermissionDenied if cfg!(target_os = "linux") => {
                        write!(
                            f,
                            "no permission to open {path}. Add yourself to the group dialout (sudo usermod -aG dialout $USER; the "
                        )?;
                        f.write_str("group is uucp on some systems) and log in again")
                    }
                    ErrorKind::PermissionDenied => {
                        write!(f, "no permission to open {path}, or another program uses it")
                    }
                    ErrorKind::ResourceBusy => {
                        write!(f, "another program uses {path}, e.g. a serial monitor: close it")?;
                        if cfg!(unix) { write!(f, " (see fuser {path})") } else { Ok(()) }
                    }
                    _ if error.raw_os_error() == Some(NOT_A_TERMINAL) => {
                        write!(f, "{path} is not a serial port. {}", ports())
                    }
                    _ => write!(f, "cannot open {path}: {error}"),
                }
            }
            Self::Speed(baud, error) => {
                write!(
                    f,
                    "the port does not support {baud} baud ({error}). Try --baud 115200, here and in the firmware"
                )
            }
            Self::Connect(place, error) => match error.kind() {
                ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
                    write!(
                        f,
                        "cannot connect to {place} ({error}). Start QEMU or the server there first"
                    )
                }
                _ => write!(f, "cannot connect to {place}: {error}"),
            },
        }
    }
}

/// Lists the serial ports of this computer in a sentence.
pub(crate) fn ports() -> String {
    let mut ports: Vec<_> = SerialPort::available_ports().unwrap_or_default();
    ports.sort();
    let names: Vec<_> = ports.iter().map(|port| port.display().to_string()).collect();
    if names.is_empty() {
        "No serial ports found".to_owned()
    } else {
        format!("Serial ports found: {}", names.join(", "))
    }
}

/// ENOTTY, which has this value on all systems that define it.
const NOT_A_TERMINAL: i32 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_contain_advice() {
        let open = |kind: ErrorKind| Trouble::Open("/dev/ttyX".into(), kind.into()).to_string();
        assert!(
            open(ErrorKind::NotFound)
                .starts_with("/dev/ttyX does not exist. Is the device plugged in? ")
        );
        #[cfg(target_os = "linux")]
        assert!(open(ErrorKind::PermissionDenied).contains("group dialout"));
        assert!(open(ErrorKind::ResourceBusy).contains("serial monitor: close it"));
        assert!(open(ErrorKind::Other).contains("cannot open"));
        let not = Trouble::Open("/dev/null".into(), io::Error::from_raw_os_error(NOT_A_TERMINAL))
            .to_string();
        assert!(not.contains("/dev/null is not a serial port"), "{not}");
        let speed = Trouble::Speed(7, ErrorKind::Other.into()).to_string();
        assert!(
            speed.contains("does not support 7 baud") && speed.contains("--baud 115200"),
            "{speed}"
        );
        let refused =
            Trouble::Connect("h:1".into(), ErrorKind::ConnectionRefused.into()).to_string();
        assert!(refused.contains("cannot connect to h:1"), "{refused}");
    }
}
