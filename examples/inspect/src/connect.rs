//! Connecting to the server.

use std::io;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::blocking::client::{
    BlockingHttpTransport, Client, Connector, Direction, Error, Process, Stderr, Transport,
};

use super::login;
use super::options::{Era, Options, Server};
use super::table::plain;
use super::terminal::Terminal;

/// Returns the client's configuration; at a terminal it supports forms, URLs and roots.
pub(crate) fn config(timeout: Duration) -> ClientConfig<'static> {
    let asks = ClientFeatures::ELICITATION_FORM
        .with(ClientFeatures::ELICITATION_URL)
        .with(ClientFeatures::ROOTS);
    let info = Implementation::new("inspect", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(info, asks.with(ClientFeatures::SAMPLING).with(ClientFeatures::TASKS))
        .call_timeout(timeout)
        .probe_timeout(timeout)
}

pub(crate) fn connect<'c>(
    config: &'c ClientConfig<'c>,
    options: &Options,
) -> Result<Client<'c>, Error> {
    let mut connector = Connector::new(config).handler(Terminal::default());
    if options.trace {
        connector = connector.trace(|way, line| {
            let arrow = if way == Direction::Sent { "→" } else { "←" };
            eprintln!("{arrow} {}", plain(&String::from_utf8_lossy(line)));
        });
    }
    connector = connector.era(match options.era {
        Era::Find => None,
        Era::Legacy => Some(mcp_sansio::Era::Legacy),
        Era::Modern => Some(mcp_sansio::Era::Modern),
    });
    let start = |server: &str, error: io::Error| Error::Start { server: server.to_owned(), error };
    match &options.server {
        Server::Command(words) => {
            let mut words = words.iter();
            let mut command =
                Command::new(words.next().map_or("".as_ref(), |word| word.as_os_str()));
            command.args(words);
            let mut process = Process::new(command);
            if options.trace {
                process.stderr = Stderr::lines(|line| eprintln!("{}", plain(line)));
            }
            connector.connect(process)
        }
        Server::Url { url, token } => {
            let wrong = |error: &dyn std::fmt::Display| {
                io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
            };
            let http = HttpTransport::new(url).map_err(|error| start(url, wrong(&error)))?;
            let http = match token {
                Some(token) => http.bearer(token),
                None => match login::stored(url) {
                    Ok((oauth, _)) if oauth.is_logged_in(url).unwrap_or(false) => http.oauth(oauth),
                    _ => http,
                },
            };
            let http =
                http.on_diagnostic(|notice| eprintln!("inspect: {}", plain(&notice.to_string())));
            connector.connect(BlockingHttpTransport::new(http))
        }
        Server::Tcp(address) => {
            connector.connect(tcp(address).map_err(|error| start(address, error))?)
        }
        #[cfg(unix)]
        Server::Unix(path) => {
            use mcp_sansio_adapters::blocking::client::PolledStreams;
            let name = path.to_string_lossy();
            let streams = std::os::unix::net::UnixStream::connect(path)
                .and_then(|output| PolledStreams::new(name.as_ref(), output.try_clone()?, output));
            connector.connect(streams.map_err(|error| start(&name, error))?)
        }
        #[cfg(not(unix))]
        Server::Unix(path) => {
            let missing = io::Error::new(
                io::ErrorKind::Unsupported,
                "--unix is supported only on Unix: use --tcp",
            );
            Err(start(&path.to_string_lossy(), missing))
        }
    }
}

/// Connects the blocking client over TCP: without threads where `poll` is available, with two
/// threads elsewhere.
fn tcp(address: &str) -> io::Result<impl Transport + use<>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    #[cfg(unix)]
    return mcp_sansio_adapters::blocking::client::PolledStreams::new(
        address,
        stream.try_clone()?,
        stream,
    );
    #[cfg(not(unix))]
    Ok(mcp_sansio_adapters::blocking::client::ThreadedStreams::new(
        address,
        stream.try_clone()?,
        stream,
    ))
}
