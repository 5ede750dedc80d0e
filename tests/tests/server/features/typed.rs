//! Tools as an enum, through a server.

use mcp_sansio::typed::Tools;
use mcp_sansio::types::TextResult;
use mcp_sansio::{Catalog, Revision, Target};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS};

#[derive(Tools)]
enum Call {
    /// Waits.
    Wait {
        #[arg(range = 1..=9)]
        seconds: u8,
    },
}

static CATALOG: Catalog = Catalog::new().tools(Call::TOOLS);

fn call(revision: Revision, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    Peer::new(revision).ask("tools/call", params, |server, request, tx| {
        let target = CATALOG.respond(server, request, tx).unwrap();
        match Call::from_request(request) {
            Some(Ok(Call::Wait { seconds })) => {
                let text = seconds.to_string();
                server.respond(request.handle, &TextResult::new(&text), tx).unwrap();
            }
            Some(Err(faults)) => {
                server.respond_invalid_arguments(request.handle, &faults, tx).unwrap();
            }
            None => assert!(matches!(target, Target::Responded)),
        }
    })
}

#[test]
fn tool_17_faults_of_typed_arguments_are_for_the_model_from_2025_11_25_on() {
    for revision in REVISIONS {
        let result = call(revision, "wait", json!({"seconds": 7}));
        assert_eq!(result["result"]["content"][0]["text"], "7");
        assert_eq!(call(revision, "walk", json!({}))["error"]["message"], "Unknown tool");
        let refused = call(revision, "wait", json!({"second": 7}));
        let words = "second: is unknown, must be one of seconds\n\
                     seconds: is missing, must be an integer from 1 to 9";
        if revision < Revision::V2025_11_25 {
            assert_eq!(refused["error"], json!({"code": -32602, "message": words}));
        } else {
            assert_eq!(refused["result"]["isError"], true);
            assert_eq!(refused["result"]["content"], json!([{"type": "text", "text": words}]));
        }
    }
}
