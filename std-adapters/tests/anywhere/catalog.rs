//! A catalog that changes while clients listen over HTTP.

use mcp_sansio::types::{TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::SharedCatalog;
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use serde_json::{Value, json};

use super::{Implementation, Posts, Response, Wire as _, beside, listen, post};

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS_LIST_CHANGED);

const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

async fn name(ctx: Context) -> HandlerResult {
    ctx.reply(&TextResult::new(ctx.name()))
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[test]
fn http_clients_of_both_eras_see_what_is_added_and_removed() {
    let catalog = SharedCatalog::new(&Catalog::new());
    let app = App::new(&CONFIG, name).catalog(&catalog);
    let (listener, address) = listen();
    let shared = catalog.clone();
    beside(http::serve(&app, listener, HttpOptions::new()), move || {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let head = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
        let mut listening = Response::of(address, head, &modern("subscriptions/listen", filter));
        let acknowledged = listening.next().unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        let mut session = Posts { address, session: None, response: None };
        session.send(&json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }}));
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let legacy = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "late"}});
        let call = modern("tools/call", json!({"name": "late"}));
        for is_there in [true, false] {
            match is_there {
                true => shared.update(|tools| tools.add(Tool::new("late", OBJECT))).unwrap(),
                false => assert_eq!(shared.update(|tools| Ok(tools.remove_tool("late"))), Ok(true)),
            }
            let told = listening.next().unwrap();
            assert_eq!(told["method"], "notifications/tools/list_changed");
            for response in [post(address, &call).remove(0), session.beside(&legacy)] {
                match is_there {
                    true => assert_eq!(response["result"]["content"][0]["text"], "late"),
                    false => assert_eq!(response["error"]["message"], "Unknown tool: late"),
                }
            }
        }
    });
}
