//! The client on stdio, with processes that misbehave.

mod ends;
mod limits;
mod opening;
mod pages;
mod scripted;
mod time;
mod traffic;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures, Json, OwnedJson};
use mcp_sansio_adapters::blocking::client::{
    CallError, CallId, Client, Connector, Direction, Error, Handler, Process, Stderr,
};
use serde_json::{Value, json};

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::NONE)
        .call_timeout(Duration::from_secs(30));

/// Messages that a client received and sent.
type Notes = Arc<Mutex<Vec<String>>>;

const SERVER: &str = env!("CARGO_BIN_EXE_misbehaving_server");

fn server(mode: &str) -> Command {
    let mut command = Command::new(SERVER);
    command.arg(mode);
    command
}

/// Timeouts for a server that exits on its own, even on a busy machine.
fn patient(mode: &str) -> Process {
    process(server(mode), [LONG; 2])
}

fn process(command: Command, exit_timeouts: [Duration; 2]) -> Process {
    let mut process = Process::new(command);
    process.exit_timeouts = exit_timeouts;
    process
}

const LONG: Duration = Duration::from_secs(60);

fn connect(mode: &str) -> Client<'static> {
    Connector::new(&CONFIG).connect(patient(mode)).unwrap()
}

/// Connects a client that records each message.
fn connect_noting(
    config: &'static ClientConfig<'static>,
    mode: &str,
) -> (Result<Client<'static>, Error>, Notes) {
    let notes = Notes::default();
    let traced = Arc::clone(&notes);
    let trace = move |way, line: &[u8]| {
        let sign = if way == Direction::Sent { '>' } else { '<' };
        traced.lock().unwrap().push(format!("{sign} {}", String::from_utf8_lossy(line)));
    };
    (Connector::new(config).trace(trace).connect(Process::new(server(mode))), notes)
}

/// Handler that records its notifications.
struct Listener(Notes);

impl Handler for Listener {
    fn on_event(&mut self, about: Option<CallId>, event: &mcp_sansio::ClientEvent<'_>) {
        let what = match event {
            mcp_sansio::ClientEvent::Violation(found) => found.to_string(),
            event => format!("{event:?}"),
        };
        self.0.lock().unwrap().push(format!("{} {what}", about.is_some()));
    }
}

fn noted(notes: &Notes, what: &str) -> usize {
    notes.lock().unwrap().iter().filter(|note| note.contains(what)).count()
}

fn trick(client: &mut Client<'_>, name: &str, arguments: &Value) -> Result<OwnedJson, Error> {
    client.call_tool(name, &Json(arguments))
}

fn start(client: &mut Client<'_>, name: &str, arguments: &Value, options: CallOptions) -> CallId {
    let params = Json(json!({"name": name, "arguments": arguments}));
    client.start("tools/call", &params, options).unwrap()
}

/// Returns the messages that the server has heard.
fn heard(client: &mut Client<'_>) -> Vec<String> {
    let heard = data(&trick(client, "heard", &json!({})).unwrap());
    heard.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

fn data(result: &OwnedJson) -> Value {
    serde_json::from_str(result.as_json().get("structuredContent").unwrap().as_str()).unwrap()
}
