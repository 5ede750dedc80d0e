//! Many at once: every response is the right one, and every change arrives at every stream.
#![cfg(unix)]

use mcp_sansio::Change;
use serde_json::{Value, json};

use crate::site::{Client, Site, call, fields_of, get, in_session, modern_body, post};

#[test]
fn five_hundred_connections_and_a_hundred_streams_are_all_served() {
    raise_limit();
    let site = Site::new();
    let sessions: Vec<String> = (0..STREAMS).map(|_| site.open("2025-06-18")).collect();
    let mut gets: Vec<Stream> =
        sessions.iter().map(|session| Stream::open(&site, &get(session, &[]))).collect();
    let mut listens: Vec<Stream> = (0..STREAMS).map(|number| listen(&site, number)).collect();
    let mut asked: Vec<(Stream, Value)> =
        sessions.iter().map(|session| ask(&site, session)).collect();
    let mut connections: Vec<Client> = (0..CONNECTIONS).map(|_| site.connect()).collect();

    for round in 0..ROUNDS {
        site.hub.publish(Change::tools());
        let id = |number: usize| (round * CONNECTIONS + number + 1000) as u32;
        for (number, client) in connections.iter_mut().enumerate() {
            // Alternates between the eras.
            let session = &sessions[number % STREAMS];
            client.write(&match number % 2 {
                0 => post(&fields_of("echo"), &modern_body(id(number), "echo")),
                _ => call(session, id(number), "echo"),
            });
        }
        for (number, client) in connections.iter_mut().enumerate() {
            let answer = client.answer();
            let body: Value = serde_json::from_str(&answer.body)
                .unwrap_or_else(|error| panic!("{error}: {answer:?}"));
            assert_eq!(
                (answer.status, &body["id"], answer.text().as_str()),
                (200, &json!(id(number)), "done")
            );
        }
        for (number, stream) in listens.iter_mut().enumerate() {
            let change = stream.event();
            assert_eq!(change["method"], "notifications/tools/list_changed");
            assert_eq!(change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], number);
        }
        for stream in &mut gets {
            assert_eq!(stream.event()["method"], "notifications/tools/list_changed");
        }
    }

    for (number, ((stream, question), session)) in asked.iter_mut().zip(&sessions).enumerate() {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"number": number}}});
        assert_eq!(site.send(&in_session(session, &answer.to_string())).status, 202);
        let result = stream.event();
        assert_eq!(result["id"], 5);
        let text: Value =
            serde_json::from_str(result["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["content"]["number"], number);
        assert!(stream.has_ended());
    }
    // They got nothing but the expected messages.
    site.hub.shut_down();
    for stream in &mut gets {
        assert!(stream.has_ended());
    }
    for (number, stream) in listens.iter_mut().enumerate() {
        assert_eq!(stream.event()["id"], number);
        assert!(stream.has_ended());
    }
}

fn listen(site: &Site, id: usize) -> Stream {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let body =
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
    let request = post(
        &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")],
        &body.to_string(),
    );
    let mut stream = Stream::open(site, &request);
    assert_eq!(stream.event()["method"], "notifications/subscriptions/acknowledged");
    stream
}

/// Opens the stream of a call that requests input, and returns the input request.
fn ask(site: &Site, session: &str) -> (Stream, Value) {
    let mut stream = Stream::open(site, &call(session, 5, "ask"));
    let question = stream.event();
    assert_eq!(question["method"], "elicitation/create");
    (stream, question)
}

/// An event stream, whose events are spread over chunks in any way.
struct Stream {
    client: Client,
    read: String,
}

impl Stream {
    /// Sends a request, whose response this is.
    fn open(site: &Site, request: &str) -> Self {
        let client = site.stream(request);
        Self { client, read: String::new() }
    }

    fn event(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let data = data.map(|json| serde_json::from_str(json).unwrap());
                self.read = rest.to_owned();
                if let Some(data) = data {
                    return data;
                }
                continue;
            }
            self.read += &self.client.chunk().expect("the stream goes on");
        }
    }

    fn has_ended(&mut self) -> bool {
        self.read.is_empty() && self.client.chunk().is_none()
    }
}

/// Both ends of the connections are files of this process.
fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

const CONNECTIONS: usize = 500;
/// Number of streams of each of three kinds.
const STREAMS: usize = 34;
const ROUNDS: usize = 4;
