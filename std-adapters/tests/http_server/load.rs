//! Many at once: every response is the right one, and every change arrives at every stream.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::site::{Client, Site, call, get, post};

#[test]
fn five_hundred_connections_and_a_hundred_streams_are_all_served() {
    raise_limit();
    let site = Site::new();
    let sessions: Vec<String> = (0..STREAMS).map(|_| site.open("2025-06-18")).collect();
    let mut gets: Vec<Client> = sessions.iter().map(|session| get_stream(&site, session)).collect();
    let mut listens: Vec<Client> = (0..STREAMS).map(|number| listen(&site, number)).collect();
    let mut asked: Vec<(Client, Value)> =
        sessions.iter().map(|session| ask(&site, session)).collect();
    let mut connections: Vec<Client> = (0..CONNECTIONS).map(|_| site.connect()).collect();

    for round in 0..ROUNDS {
        site.hub.tools_changed();
        let id = |number: usize| (round * CONNECTIONS + number + 1000) as u32;
        for (number, client) in connections.iter_mut().enumerate() {
            // Alternates between the eras.
            let session = &sessions[number % STREAMS];
            client.write(&if number % 2 == 0 {
                alone(id(number))
            } else {
                call(session, id(number), "echo")
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
            let change = event(stream);
            assert_eq!(change["method"], "notifications/tools/list_changed");
            assert_eq!(change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], number);
        }
        for stream in &mut gets {
            assert_eq!(event(stream)["method"], "notifications/tools/list_changed");
        }
    }

    for (number, ((stream, question), session)) in asked.iter_mut().zip(&sessions).enumerate() {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"number": number}}});
        assert_eq!(
            site.send(&post(&[("Mcp-Session-Id", session)], &answer.to_string())).status,
            202
        );
        let result = event(stream);
        assert_eq!(result["id"], 5);
        let text: Value =
            serde_json::from_str(result["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["content"]["number"], number);
        assert!(stream.chunk().is_none());
    }
    // They got nothing but the expected messages.
    site.hub.shut_down();
    for stream in &mut gets {
        assert!(stream.chunk().is_none());
    }
    for (number, stream) in listens.iter_mut().enumerate() {
        assert_eq!(event(stream)["id"], number);
        assert!(stream.chunk().is_none());
    }
}

/// Opens the GET stream of a session.
fn get_stream(site: &Site, session: &str) -> Client {
    let mut stream = site.connect();
    stream.write(&get(session, &[]));
    assert_eq!(stream.head().status, 200);
    stream
}

fn listen(site: &Site, id: usize) -> Client {
    let mut stream = site.connect();
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    let body =
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
    stream.write(&post(
        &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")],
        &body.to_string(),
    ));
    assert_eq!(stream.head().status, 200);
    assert_eq!(event(&mut stream)["method"], "notifications/subscriptions/acknowledged");
    stream
}

/// Opens the stream of a call that requests input, and returns the input request.
fn ask(site: &Site, session: &str) -> (Client, Value) {
    let mut stream = site.connect();
    stream.write(&call(session, 5, "ask"));
    assert_eq!(stream.head().status, 200);
    let question = event(&mut stream);
    assert_eq!(question["method"], "elicitation/create");
    (stream, question)
}

fn alone(id: u32) -> String {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "_meta": meta()}});
    let fields = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "echo"),
    ];
    post(&fields, &body.to_string())
}

fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})
}

/// Returns the next event, which must be all of the next chunk.
fn event(stream: &mut Client) -> Value {
    let chunk = stream.chunk().expect("the stream goes on");
    let data: Vec<&str> = chunk.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data.len(), 1, "{chunk}");
    serde_json::from_str(data[0]).unwrap_or_else(|error| panic!("{error}: {chunk}"))
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
