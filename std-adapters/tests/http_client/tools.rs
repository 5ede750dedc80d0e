//! Tools with arguments that are mirrored in header fields.

use mcp_sansio_adapters::asynchronous::client::Client;
use serde_json::{Value, json};

use crate::scene::{Response, Seen, call, modern, only, play};
use crate::{CHUNKS, MODERN};

fn tool(name: &str, properties: &Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

/// Lists these tools, in two pages.
fn with_tools(
    tools: Vec<Value>,
    otherwise: fn(&Seen) -> Response,
) -> impl FnMut(&Seen) -> Response {
    move |seen| match (seen.message(), seen.body["params"]["cursor"].as_str()) {
        ("tools/list", None) => Response::result(
            seen,
            &json!({"resultType": "complete", "tools": tools[..1], "nextCursor": "2"}),
        ),
        ("tools/list", Some("2")) => {
            Response::result(seen, &json!({"tools": tools[1..], "resultType": "complete"}))
        }
        _ => otherwise(seen),
    }
}

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_tools().await.unwrap();
    tools.iter().map(|tool| tool.unwrap().name.to_string()).collect()
}

fn params(seen: &Seen) -> Vec<(&str, &str)> {
    let mirrored =
        seen.fields.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("mcp-param-"));
    mirrored.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn weather() -> Value {
    tool(
        "weather",
        &json!({
            "city": {"type": "string", "x-mcp-header": "City"},
            "days": {"type": "integer", "x-mcp-header": "Days"},
            "wind": {"type": "boolean", "x-mcp-header": "Wind"},
            "note": {"type": "string"},
            "where": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Method"}}},
        }),
    )
}

#[test]
fn hdr_04_hdr_05_hdr_06_hdr_07_hdr_08_hdr_09_hdr_10_hdr_30_hdr_31_hdr_35_headers_mirror_arguments()
{
    for chunk in CHUNKS {
        for (arguments, expected) in [
            (
                json!({"city": "Bern", "days": 3, "wind": true, "note": "x"}),
                vec![
                    ("Mcp-Param-City", "Bern"),
                    ("Mcp-Param-Days", "3"),
                    ("Mcp-Param-Wind", "true"),
                ],
            ),
            (
                json!({"city": "Z\u{fc}rich", "days": -7, "wind": false}),
                vec![
                    ("Mcp-Param-City", "=?base64?WsO8cmljaA==?="),
                    ("Mcp-Param-Days", "-7"),
                    ("Mcp-Param-Wind", "false"),
                ],
            ),
            (json!({"city": "", "days": null}), vec![("Mcp-Param-City", "")]),
            (
                json!({"city": " a\r\nX-Evil: b"}),
                vec![("Mcp-Param-City", "=?base64?IGENClgtRXZpbDogYg==?=")],
            ),
            (
                json!({"city": "=?base64?YQ==?="}),
                vec![("Mcp-Param-City", "=?base64?PT9iYXNlNjQ/WVE9PT89?=")],
            ),
            (json!({"city": "=?BASE64?YQ==?="}), vec![("Mcp-Param-City", "=?BASE64?YQ==?=")]),
            (json!({"where": {"region": "us-west1"}}), vec![("Mcp-Param-Method", "us-west1")]),
            (json!({"note": "x"}), vec![]),
        ] {
            let answer = with_tools(vec![tool("other", &json!({})), weather()], modern);
            let made = arguments.clone();
            let played = play(&MODERN, chunk, answer, async |client| {
                assert_eq!(names(&client).await, ["other", "weather"]);
                call(&client, "weather", &made).await
            });
            assert_eq!(played.result.unwrap(), "called");
            assert_eq!(params(only(&played.seen, "tools/call")), expected, "{arguments}");
        }
    }
}
