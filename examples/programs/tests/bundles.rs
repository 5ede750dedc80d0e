//! The manifests of bundles say what the servers do.

mod common;

use std::process::Command;

use serde_json::{Value, json};

use common::{Server, modern};

fn check(manifest: &str, program: &str) {
    let manifest: Value = serde_json::from_str(manifest).unwrap();
    let name = manifest["name"].as_str().unwrap();
    let entry = format!("server/{name}");
    assert_eq!(manifest["server"]["entry_point"], entry);
    let config = &manifest["server"]["mcp_config"];
    assert_eq!(*config, json!({"command": format!("${{__dirname}}/{entry}"), "args": []}));
    let mut server = Server::spawn(&mut Command::new(program));
    let mut output = server.output();
    server.send(&modern(1, "tools/list", json!({})));
    let tools = output.next()["result"]["tools"].take();
    let tools = tools.as_array().unwrap().iter();
    let tools = tools.map(|it| json!({"name": it["name"], "description": it["description"]}));
    assert_eq!(manifest["tools"], tools.collect::<Value>());
    server.send(&modern(2, "server/discover", json!({})));
    let info = &output.next()["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(manifest["version"], info["version"]);
}

#[test]
fn manifests_have_the_version_and_the_tools_of_the_servers() {
    let notes = include_str!("../bundles/notes-server.json");
    check(notes, env!("CARGO_BIN_EXE_notes-server"));
    let database = include_str!("../bundles/database-server.json");
    check(database, env!("CARGO_BIN_EXE_database-server"));
}
