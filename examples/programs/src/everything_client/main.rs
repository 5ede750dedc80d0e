//! A client with all features: the client scenarios of the official conformance suite, and a tour
//! of a server.

mod answers;
mod authorization;
mod scenario;
mod tour;

use std::ffi::OsString;
use std::io;
use std::net::TcpStream;
use std::process::{Command, ExitCode};
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Era, Printable};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::blocking::client::{
    BlockingHttpTransport, Client, Connector, Error, Process, Transport,
};

use answers::Answers;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((words, server)) = split(&arguments) else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    let scenario = words
        .first()
        .cloned()
        .or_else(|| std::env::var("MCP_CONFORMANCE_SCENARIO").ok())
        .unwrap_or_else(|| "tour".into());
    // The suite sets the revision; without it, the client detects the era.
    let era = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")
        .ok()
        .map(|version| if version.as_str() < "2026-07-28" { Era::Legacy } else { Era::Modern });
    let played = connect(&server, era, &scenario).and_then(|mut client| {
        let played = scenario::play(&scenario, &mut client);
        client.close()?;
        played
    });
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "everything-client: {scenario}: {}",
                Printable::new(error).with_line_breaks()
            );
            ExitCode::FAILURE
        }
    }
}

/// Splits the arguments into words and the address of the server.
fn split(arguments: &[OsString]) -> Option<(Vec<String>, Server)> {
    // The suite appends a URL.
    if let Some((url, words)) = arguments.split_last()
        && let Some(url) = url.to_str().filter(|url| url.starts_with("http"))
    {
        let words = words
            .iter()
            .map(|word| word.to_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()?;
        return (words.len() < 2).then(|| (words, Server::Url(url.to_owned())));
    }
    let at = arguments.iter().position(|argument| argument == "--" || argument == "--tcp")?;
    let words = arguments
        .get(..at)?
        .iter()
        .map(|word| word.to_str().map(str::to_owned))
        .collect::<Option<Vec<_>>>()?;
    let rest = arguments.get(at + 1..).filter(|rest| !rest.is_empty())?;
    let server = if arguments.get(at)? == "--" {
        Server::Command(rest.to_vec())
    } else {
        Server::Tcp(rest.first()?.to_str()?.to_owned())
    };
    (words.len() < 2 && words.iter().all(|word| !word.starts_with('-'))).then_some((words, server))
}

enum Server {
    Command(Vec<OsString>),
    Tcp(String),
    Url(String),
}

fn connect(server: &Server, era: Option<Era>, scenario: &str) -> Result<Client<'static>, Error> {
    let connector = Connector::new(&CONFIG).handler(Answers).era(era);
    match server {
        Server::Command(words) => {
            let mut words = words.iter();
            let mut command =
                Command::new(words.next().map_or("".as_ref(), |word| word.as_os_str()));
            command.args(words);
            connector.connect(Process::new(command))
        }
        Server::Tcp(address) => connector.connect(tcp(address)?),
        Server::Url(url) => {
            let http = HttpTransport::new(url)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            let http = if scenario.starts_with("auth/") {
                http.oauth(authorization::oauth(scenario, url)?)
            } else {
                http
            };
            connector.connect(BlockingHttpTransport::new(http.on_diagnostic(|notice| {
                eprintln!("everything-client: {}", Printable::new(notice))
            })))
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

static CONFIG: ClientConfig<'_> = ClientConfig::new(
    Implementation::new("everything-client", env!("CARGO_PKG_VERSION")),
    ClientFeatures::ROOTS_LIST_CHANGED
        .with(ClientFeatures::SAMPLING_TOOLS)
        .with(ClientFeatures::ELICITATION_FORM)
        .with(ClientFeatures::ELICITATION_URL)
        .with(ClientFeatures::TASKS),
)
.call_timeout(Duration::from_secs(20));

const HELP: &str = "\
Runs a client scenario of the MCP conformance suite, or a tour of everything that a server offers.

usage: everything-client [SCENARIO] -- PROGRAM [ARGUMENT…]
       everything-client [SCENARIO] --tcp HOST:PORT
       everything-client [SCENARIO] URL

The scenario defaults to MCP_CONFORMANCE_SCENARIO, and that to tour: initialize, tools_call,
elicitation-sep1034-client-defaults, request-metadata, sep-2322-client-request-state,
json-schema-ref-no-deref, json-schema-2020-12-preservation, sse-retry, http-standard-headers,
http-custom-headers, http-invalid-tool-headers, sep-2640-client-no-prefetch,
sep-2640-client-verify-digest, -size and -frontmatter, tour, and all that begin with auth/.
MCP_CONFORMANCE_PROTOCOL_VERSION selects the era; without it, the client detects it.

example: everything-client tour -- target/debug/everything-server --stdio
          everything-client tour http://127.0.0.1:8000/mcp
";
