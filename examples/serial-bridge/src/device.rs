//! The device, and an open line to it.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serial2::{KeepSettings, SerialPort};

use super::trouble::Trouble;

/// The address of the device.
#[derive(Debug, PartialEq)]
pub(crate) enum Device {
    Serial { path: PathBuf, baud: u32 },
    Tcp(String),
    Unix(PathBuf),
}

/// An open line. One thread may read it while another writes.
#[derive(Debug)]
pub(crate) enum Link {
    Serial(SerialPort),
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Device {
    pub(crate) fn new(place: OsString, baud: Option<u32>) -> Result<Self, String> {
        let text = place.to_string_lossy();
        let device = if let Some(address) = text.strip_prefix("tcp:") {
            match address.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Self::Tcp(address.to_owned())
                }
                _ => return Err(format!("invalid address `{text}`: expected tcp:HOST:PORT")),
            }
        } else if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err("missing path: unix:PATH".to_owned());
            }
            Self::Unix(path.into())
        } else {
            match baud {
                Some(0) => return Err("--baud must not be 0".to_owned()),
                _ => {
                    return Ok(Self::Serial {
                        path: place.into(),
                        baud: baud.unwrap_or(DEFAULT_BAUD),
                    });
                }
            }
        };
        if baud.is_some() { Err("--baud is only for serial ports".to_owned()) } else { Ok(device) }
    }

    pub(crate) fn open(&self) -> Result<Link, Trouble> {
        match self {
            Self::Serial { path, baud } => open_serial(path, *baud).map(Link::Serial),
            Self::Tcp(address) => open_tcp(address)
                .map(Link::Tcp)
                .map_err(|error| Trouble::Connect(address.clone(), error)),
            #[cfg(unix)]
            Self::Unix(path) => {
                let open = || {
                    let stream = UnixStream::connect(path)?;
                    stream.set_read_timeout(Some(TICK))?;
                    Ok(Link::Unix(stream))
                };
                open().map_err(|error| Trouble::Connect(path.display().to_string(), error))
            }
            #[cfg(not(unix))]
            Self::Unix(path) => {
                Err(Trouble::Connect(path.display().to_string(), ErrorKind::Unsupported.into()))
            }
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { path, .. } | Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

fn open_serial(path: &Path, baud: u32) -> Result<SerialPort, Trouble> {
    let open = |error| Trouble::Open(path.to_owned(), error);
    let mut port = SerialPort::open(path, KeepSettings).map_err(open)?;
    lock(&port).map_err(open)?;
    let settings = port.get_configuration().and_then(|mut settings| {
        settings.set_raw();
        settings.set_baud_rate(baud)?;
        Ok(settings)
    });
    settings
        .and_then(|settings| port.set_configuration(&settings))
        .map_err(|error| Trouble::Speed(baud, error))?;
    let timeouts = port.set_read_timeout(TICK).and_then(|()| port.set_write_timeout(TICK));
    timeouts.map_err(open)?;
    Ok(port)
}

/// Opens the port for exclusive use, which Windows does anyway.
fn lock(port: &SerialPort) -> io::Result<()> {
    #[cfg(unix)]
    {
        // The lock excludes a second bridge of any user; the flag excludes programs that do not
        // lock.
        rustix::fs::flock(port, rustix::fs::FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| ErrorKind::ResourceBusy)?;
        rustix::termios::ioctl_tiocexcl(port)?;
    }
    #[cfg(not(unix))]
    let _ = port;
    Ok(())
}

fn open_tcp(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TICK))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Link {
    /// Reads what has arrived: `None` if nothing within [`TICK`], zero at the end.
    pub(crate) fn read(&self, to: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self {
            Self::Serial(port) => port.read(to),
            Self::Tcp(stream) => { stream }.read(to),
            #[cfg(unix)]
            Self::Unix(stream) => { stream }.read(to),
        };
        match read {
            Err(error) if is_only_late(&error) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Writes all bytes, however long the device takes, unless `given_up` returns true.
    pub(crate) fn write_all(
        &self,
        mut bytes: &[u8],
        given_up: impl Fn() -> bool,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = match self {
                Self::Serial(port) => port.write(bytes),
                Self::Tcp(stream) => { stream }.write(bytes),
                #[cfg(unix)]
                Self::Unix(stream) => { stream }.write(bytes),
            };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if is_only_late(&error) && !given_up() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Unblocks threads that wait for the socket.
    pub(crate) fn shut_down(&self) {
        let _ = match self {
            Self::Serial(_) => Ok(()),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

fn is_only_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

const DEFAULT_BAUD: u32 = 115_200;
/// Maximum duration of a read, so that the caller can check its timers.
pub(crate) const TICK: Duration = Duration::from_millis(200);
const CONNECT: Duration = Duration::from_secs(5);
