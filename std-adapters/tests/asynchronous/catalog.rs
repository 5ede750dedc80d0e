//! A catalog that changes while its application runs.

use mcp_sansio::types::{Prompt, TextResult, Tool};
use mcp_sansio::{RawJson, Target};
use mcp_sansio_adapters::SharedCatalog;
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits};
use serde_json::{Value, json};

use crate::client::{WIDE, call, in_session, legacy, modern, talk};
use crate::{CATALOG, CONFIG};

const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

/// Responds with the name of the tool.
async fn name(ctx: Context) -> HandlerResult {
    let Target::Tool(tool) = ctx.target() else { panic!("{:?}", ctx.target()) };
    ctx.reply(&TextResult::new(&tool.key().to_string()))
}

#[test]
fn both_eras_are_told_once_of_each_update() {
    let catalog = SharedCatalog::new(&CATALOG);
    let app = App::new(&CONFIG, name).catalog(&catalog);
    in_session(&app, WIDE, async |mut client| {
        let listen = json!({"notifications": {"toolsListChanged": true}});
        client.ask(&modern(1, "subscriptions/listen", listen)).await;
        for tool in ["first", "second"] {
            let failed = catalog.update(|tools| {
                tools.remove_tool("echo");
                tools.add(Tool::new("", OBJECT))
            });
            assert!(failed.is_err());
            // Of prompts this server does not say that it changes them.
            catalog.update(|all| all.add(Prompt::new(tool))).unwrap();
            catalog.update(|tools| tools.add(Tool::new(tool, OBJECT))).unwrap();
            let mut told = [client.next().await, client.next().await];
            told.sort_by_key(|message| message["params"]["_meta"].is_object());
            let method = "notifications/tools/list_changed";
            assert!(told.iter().all(|message| message["method"] == method), "{told:?}");
            assert_eq!(
                told[1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
                Value::from(1)
            );
            // Nothing else is on its way.
            assert_eq!(client.ask(&legacy(2, "ping", json!({}))).await["id"], 2);
            let response = client.ask(&call(3, tool, json!({}))).await;
            assert_eq!(response["result"]["content"][0]["text"], tool);
        }
    });
}

#[test]
fn a_list_that_waits_for_its_reader_is_of_the_catalog_that_it_began_with() {
    let catalog = SharedCatalog::new(&CATALOG);
    let names: Vec<String> = (0..50).map(|n| format!("tool-{n}")).collect();
    let add_all = || {
        catalog.update(|tools| names.iter().try_for_each(|name| tools.add(Tool::new(name, OBJECT))))
    };
    let remove_all =
        || catalog.update(|tools| Ok(names.iter().all(|name| tools.remove_tool(name))));
    add_all().unwrap();
    let app = App::new(&CONFIG, name)
        .catalog(&catalog)
        .limits(Limits { max_pending: 1024, ..Limits::new() });
    for chunk in [1, 7, 100] {
        talk(&app, (chunk, chunk), async |mut client| {
            client.send(&modern(1, "tools/list", json!({}))).await;
            client.begin().await;
            assert_eq!(remove_all(), Ok(true));
            let list = client.next().await;
            let tools = list["result"]["tools"].as_array().unwrap();
            let listed = tools.iter().filter_map(|tool| tool["name"].as_str());
            assert!(listed.filter(|name| name.starts_with("tool-")).eq(&names), "{list}");
            let ended = client.ask(&modern(2, "tools/list", json!({}))).await;
            assert!(!ended.to_string().contains("tool-"));
            add_all().unwrap();
        });
    }
}
