//! Tools behind the blocking server that request input from the client.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use mcp_sansio::typed::{Input, ToolHandler, Tools};
use mcp_sansio::types::InputRequest;
use mcp_sansio::{Catalog, NoOutput, ToolContext, ToolResult};
use mcp_sansio_adapters::blocking::{App, Threaded};
use serde_json::{Value, json};

static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Asks for two names at once.
    Ask,
    /// Asks nothing.
    Count,
}

#[derive(Input)]
struct Name {
    #[arg(length = 1..)]
    name: String,
}

#[derive(Default)]
struct Desk {
    calls: u32,
}

impl ToolHandler for Desk {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
        self.calls += 1;
        match call {
            Call::Ask => {
                ctx.set_request_state("asked");
                let form = || InputRequest::form::<Name>("Who?");
                let asked = ctx.request_inputs([("one", form()), ("other", form())]);
                let [one, other] = ctx.at_once(asked)?;
                let names = [one.to_form::<Name>()?, other.to_form::<Name>()?];
                let names = names.map(|name| name.map_or("nobody".to_owned(), |name| name.name));
                Ok(names.join(" and ").into())
            }
            Call::Count => Ok(self.calls.to_string().into()),
        }
    }
}

/// The client of a server that runs in a thread.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let (server, _) = listener.accept().unwrap();
        std::thread::spawn(move || {
            let app = App::new(&super::SERVER).catalog(&CATALOG);
            let mut desk = Desk::default();
            let input = Threaded::new(server.try_clone().unwrap());
            app.serve_on(input, server, |ctx| ctx.call_tool(&mut desk)).unwrap();
        });
        Self(BufReader::new(client))
    }

    /// A client of 2025-11-25.
    fn legacy() -> Self {
        let mut client = Self::connect();
        client.send(json!({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"},
        }}));
        client.next();
        client.send(json!({"method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.0.get_mut().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn call(&mut self, id: u32, name: &str) {
        self.send(json!({"id": id, "method": "tools/call", "params": {"name": name}}));
    }

    /// Calls a tool as a client of 2026-07-28 does.
    fn call_modern(&mut self, more: Value) -> Value {
        let mut params = json!({"name": "ask", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send(json!({"id": 1, "method": "tools/call", "params": params}));
        self.next()
    }
}

fn accepted(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

#[test]
fn both_responses_are_awaited_in_any_order_while_other_tools_are_called() {
    let mut client = Client::legacy();
    client.call(1, "ask");
    let [one, other] = [client.next(), client.next()];
    assert_eq!((&one["method"], &other["method"]), (&json!("elicitation/create"), &one["method"]));
    client.send(json!({"id": other["id"], "result": accepted("Bob")}));
    client.call(2, "count");
    assert_eq!(client.next()["result"]["content"][0]["text"], "2");
    client.send(json!({"id": one["id"], "result": accepted("Ada")}));
    let result = client.next();
    assert_eq!(result["id"], 1);
    assert_eq!(result["result"]["content"][0]["text"], "Ada and Bob");
}

#[test]
fn a_refusal_ends_the_tool_and_a_cancelled_call_is_not_made_again() {
    let mut client = Client::legacy();
    client.call(1, "ask");
    let [one, other] = [client.next(), client.next()];
    client.send(json!({"id": one["id"], "error": {"code": -1, "message": "no"}}));
    client.send(json!({"id": other["id"], "result": accepted("Bob")}));
    let refused = client.next();
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("failed with error -1: no"), "{refused}");

    client.call(2, "ask");
    let [one, other] = [client.next(), client.next()];
    client.send(json!({"method": "notifications/cancelled", "params": {"requestId": 2}}));
    for message in [one, other] {
        client.send(json!({"id": message["id"], "result": accepted("Ada")}));
    }
    client.call(3, "count");
    let count = loop {
        let message = client.next();
        if message["method"] != "notifications/cancelled" {
            break message;
        }
    };
    // Two rounds of the first call, one of the second.
    assert_eq!((&count["id"], &count["result"]["content"][0]["text"]), (&json!(3), &json!("4")));
}

#[test]
fn mrtr_10_the_state_of_a_modern_call_is_protected() {
    let mut client = Client::connect();
    let first = client.call_modern(json!({}))["result"].take();
    assert_eq!(first["inputRequests"].as_object().unwrap().len(), 2);
    let state = first["requestState"].as_str().unwrap();
    let responses = json!({"one": accepted("Ada"), "other": {"action": "decline"}});
    let with = |state: &str| json!({"inputResponses": responses, "requestState": state});
    assert_eq!(client.call_modern(with("forged"))["error"]["code"], -32602);
    let alone = client.call_modern(json!({"inputResponses": responses}));
    assert_eq!(alone["result"]["resultType"], "input_required");
    let done = client.call_modern(with(state));
    assert_eq!(done["result"]["content"][0]["text"], "Ada and nobody");
    // The form asks for a character at least.
    let responses = json!({"one": accepted(""), "other": accepted("Bob")});
    let invalid = json!({"inputResponses": responses, "requestState": state});
    assert_ne!(client.call_modern(invalid)["error"], Value::Null);
}
