//! A catalog that changes while blocking servers run.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use mcp_sansio::types::{Implementation, Prompt, TextResult, Tool};
use mcp_sansio::{AddError, Catalog, Era, RawJson, ServerConfig, ServerFeatures, Target, entries};
use mcp_sansio_adapters::SharedCatalog;
use mcp_sansio_adapters::blocking::{App, Error, Input, Polled, RequestContext, Threaded};
use serde_json::{Value, json};

use super::CLIENT;

static SERVER: ServerConfig = ServerConfig::new(
    Implementation::new("server", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::PROMPTS),
);
static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new("first", OBJECT)]);
const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

/// Responds with the name of the tool.
fn name(ctx: &mut RequestContext<'_, '_>) -> Result<(), Error> {
    let Target::Tool(tool) = ctx.target() else { panic!("{:?}", ctx.target()) };
    ctx.respond(&TextResult::new(&tool.key().to_string()))
}

/// A client of one of the servers, which speaks lines.
struct Peer {
    stream: BufReader<UnixStream>,
    revision: &'static str,
}

impl Peer {
    fn connect<I: Input>(
        catalog: &SharedCatalog,
        input: impl FnOnce(UnixStream) -> I + Send + 'static,
        revision: &'static str,
    ) -> Self {
        let (client, server) = UnixStream::pair().unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let catalog = catalog.clone();
        // It ends with an error when its client does.
        thread::spawn(move || {
            let output = server.try_clone().unwrap();
            App::new(&SERVER).catalog(&catalog).serve_on(input(server), output, name)
        });
        let mut peer = Self { stream: BufReader::new(client), revision };
        if revision == "2026-07-28" {
            let filter = json!({"toolsListChanged": true, "promptsListChanged": true});
            peer.send("subscriptions/listen", json!({"notifications": filter}));
            assert_eq!(peer.read()["method"], "notifications/subscriptions/acknowledged");
        } else {
            let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
            assert_eq!(peer.ask("initialize", params)["result"]["protocolVersion"], revision);
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            writeln!(peer.stream.get_mut(), "{ready}").unwrap();
            peer.ask("ping", json!({}));
        }
        peer
    }

    fn send(&mut self, method: &str, mut params: Value) {
        if self.revision == "2026-07-28" {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        writeln!(self.stream.get_mut(), "{request}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params);
        let response = self.read();
        assert_eq!(response["id"], method);
        response
    }

    fn tools(&mut self) -> Vec<String> {
        let mut list = self.ask("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array_mut().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn servers_that_wait_for_input_tell_their_clients_of_a_change() {
    let catalog = SharedCatalog::new(&CATALOG);
    let mut peers = Vec::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        peers.push(Peer::connect(&catalog, Polled::new, revision));
        peers.push(Peer::connect(&catalog, Threaded::new, revision));
    }
    type Update = fn(&SharedCatalog) -> Result<bool, AddError>;
    let updates: [Update; 2] = [
        |catalog| {
            catalog.update(|tools| {
                tools.add(Tool::new("second", OBJECT))?;
                tools.add(Tool::new("third", OBJECT)).map(|()| true)
            })
        },
        |catalog| catalog.update(|tools| Ok(tools.remove_tool("first"))),
    ];
    for (update, expected) in
        updates.into_iter().zip([["first", "second", "third"].as_slice(), &["second", "third"]])
    {
        // An update that fails changes nothing.
        let failed = catalog.update(|tools| {
            tools.remove_tool("first");
            tools.add(Tool::new("", OBJECT))
        });
        assert!(failed.is_err());
        assert_eq!(update(&catalog), Ok(true));
        for peer in &mut peers {
            assert_eq!(peer.read()["method"], "notifications/tools/list_changed");
            assert_eq!(peer.tools(), expected, "{}", peer.revision);
        }
    }
    for peer in &mut peers {
        let call = |name| json!({"name": name, "arguments": {}});
        let result = peer.ask("tools/call", call("third"));
        assert_eq!(result["result"]["content"][0]["text"], "third");
        let removed = peer.ask("tools/call", call("first"));
        assert_eq!(removed["error"]["message"], "Unknown tool: first");
    }
}

#[test]
fn a_list_that_does_not_change_by_declaration_changes_in_silence() {
    let catalog = SharedCatalog::new(&CATALOG);
    for revision in ["2025-11-25", "2026-07-28"] {
        let mut peer = Peer::connect(&catalog, Polled::new, revision);
        catalog.update(|all| all.add(Prompt::new(revision))).unwrap();
        let prompts = peer.ask("prompts/list", json!({}));
        assert!(prompts["result"]["prompts"].to_string().contains(revision));
        catalog.update(|all| all.add(Tool::new(revision, OBJECT))).unwrap();
        assert_eq!(peer.read()["method"], "notifications/tools/list_changed");
    }
}

#[test]
fn a_tool_adds_a_tool() {
    for era in Era::ALL {
        let catalog = SharedCatalog::new(&CATALOG);
        let memory = App::new(&SERVER).catalog(&catalog).memory(|ctx| {
            let added = catalog.update(|tools| {
                tools.remove_tool("first");
                tools.add(Tool::new("next", OBJECT))
            });
            let is_next = matches!(ctx.target(), Target::Tool(tool) if tool.key() == "next");
            assert_eq!(added.is_err(), is_next);
            name(ctx)
        });
        let mut client = memory.connect(&CLIENT, era).unwrap();
        for tool in ["first", "next"] {
            let result = client.call_tool(tool, &RawJson::EMPTY).unwrap();
            assert!(result.as_json().as_str().contains(tool));
        }
        let error = client.call_tool("first", &RawJson::EMPTY).unwrap_err();
        assert!(error.to_string().contains("Unknown tool"), "{error}");
    }
}

#[test]
fn each_list_is_of_one_state_while_threads_change_it() {
    let catalog = SharedCatalog::new(&CATALOG);
    let mut peer = Peer::connect(&catalog, Polled::new, "2025-11-25");
    thread::scope(|scope| {
        for thread in 0..4 {
            let catalog = &catalog;
            scope.spawn(move || {
                for number in 0..50 {
                    let pair = ["left", "right"].map(|side| format!("{side}-{thread}-{number}"));
                    let added = catalog.update(|tools| {
                        pair.iter().try_for_each(|name| tools.add(Tool::new(name, OBJECT)))
                    });
                    assert_eq!(added, Ok(()));
                }
            });
        }
        let mut listed = 0;
        while listed < 401 {
            peer.send("tools/list", json!({}));
            let response = loop {
                let message = peer.read();
                if message["method"] != "notifications/tools/list_changed" {
                    break message;
                }
            };
            let tools = response["result"]["tools"].as_array().unwrap();
            let count = |side| {
                let names = tools.iter().filter_map(|tool| tool["name"].as_str());
                names.filter(|name| name.starts_with(side)).count()
            };
            assert_eq!(count("left"), count("right"));
            assert!(tools.len() >= listed, "{} after {listed}", tools.len());
            listed = tools.len();
        }
    });
    assert_eq!(catalog.snapshot().catalog().check().err().map(|error| error.reason), None);
}
