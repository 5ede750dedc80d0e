//! Tools with arguments that are mirrored in header fields.

use mcp_sansio_adapters::asynchronous::client::Client;
use serde_json::{Value, json};

use crate::scene::{Response, Seen, call, error, legacy, modern, only, play};
use crate::{CHUNKS, LEGACY, MODERN};

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

#[test]
fn hdr_36_an_argument_that_no_field_can_carry_is_refused_before_it_is_sent() {
    for arguments in [
        json!({"city": ["Bern"]}),
        json!({"city": 1.5}),
        json!({"days": 9_007_199_254_740_992_u64}),
        json!({"wind": {}}),
    ] {
        let answer = with_tools(vec![tool("other", &json!({})), weather()], modern);
        let played = play(&MODERN, 64, answer, async |client| {
            names(&client).await;
            error(call(&client, "weather", &arguments).await)
        });
        assert!(played.result.1.contains("argument with x-mcp-header"), "{:?}", played.result);
        assert!(!played.trace.iter().any(|line| line.contains("tools/call")));
    }
}

#[test]
fn hdr_20_hdr_21_tools_with_invalid_annotations_are_left_out_and_reported() {
    for chunk in CHUNKS {
        let bad = [
            (
                "empty",
                json!({"a": {"type": "string", "x-mcp-header": ""}}),
                "x-mcp-header must be a token of",
            ),
            (
                "space",
                json!({"a": {"type": "string", "x-mcp-header": "a b"}}),
                "x-mcp-header must be a token of",
            ),
            (
                "number",
                json!({"a": {"type": "number", "x-mcp-header": "A"}}),
                "x-mcp-header is allowed only on properties of type string, integer or boolean",
            ),
            (
                "twice",
                json!({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}),
                "two x-mcp-header names of the schema are equal",
            ),
            (
                "items",
                json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}),
                "x-mcp-header is allowed only under `properties`",
            ),
        ];
        let mut tools = vec![tool("first", &json!({}))];
        tools.extend(bad.iter().map(|(name, properties, _)| tool(name, properties)));
        tools.push(weather());
        let played =
            play(&MODERN, chunk, with_tools(tools, modern), async |client| names(&client).await);
        assert_eq!(played.result, ["first", "weather"]);
        assert_eq!(played.notices.len(), bad.len());
        for ((name, _, reason), notice) in bad.iter().zip(&played.notices) {
            let expected = format!("tool `{name}` removed from the list: {reason}");
            assert!(notice.starts_with(&expected), "{notice}");
        }
    }
}

#[test]
fn hdr_20_before_2026_07_28_annotations_are_ignored() {
    let answer = with_tools(
        vec![tool("bad", &json!({"a": {"type": "number", "x-mcp-header": ""}})), weather()],
        legacy,
    );
    let played = play(&LEGACY, 64, answer, async |client| {
        assert_eq!(names(&client).await, ["bad", "weather"]);
        call(&client, "weather", &json!({"city": "Bern"})).await
    });
    assert_eq!(played.result.unwrap(), "called");
    assert_eq!(params(only(&played.seen, "tools/call")), []);
    assert!(played.notices.is_empty());
}

#[test]
fn hdr_22_a_head_that_does_not_fit_the_tool_is_corrected_once() {
    for chunk in CHUNKS {
        let check = |seen: &Seen| match seen.message() {
            "tools/call" if params(seen).is_empty() => Response::error(
                seen,
                400,
                &json!({"code": -32020, "message": "Mcp-Param-City is missing"}),
            ),
            _ => modern(seen),
        };
        let answer = with_tools(vec![tool("other", &json!({})), weather()], check);
        let played = play(&MODERN, chunk, answer, async |client| {
            call(&client, "weather", &json!({"city": "Bern"})).await
        });
        assert_eq!(played.result.unwrap(), "called");
        let expected = [
            "POST /mcp server/discover 2026-07-28 -",
            "POST /mcp tools/call 2026-07-28 -",
            "POST /mcp tools/list 2026-07-28 -",
            "POST /mcp tools/list 2026-07-28 -",
            "POST /mcp tools/call 2026-07-28 -",
        ];
        assert_eq!(played.trace, expected);
        let lists: Vec<_> =
            played.seen.iter().filter(|seen| seen.message() == "tools/list").collect();
        let calls: Vec<_> =
            played.seen.iter().filter(|seen| seen.message() == "tools/call").collect();
        // The list is requested with the client's capabilities of the call.
        let about = |seen: &Seen| {
            seen.body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"].clone()
        };
        assert!(
            lists.iter().all(|list| about(list) == about(calls[0]) && list.body["id"].is_string())
        );
        assert_eq!(params(calls[1]), [("Mcp-Param-City", "Bern")]);

        // A server that keeps rejecting is believed the second time.
        let answer =
            with_tools(vec![tool("other", &json!({})), weather()], |seen| match seen.message() {
                "tools/call" => {
                    Response::error(seen, 400, &json!({"code": -32020, "message": "no"}))
                }
                _ => modern(seen),
            });
        let played = play(&MODERN, chunk, answer, async |client| {
            error(call(&client, "weather", &json!({})).await)
        });
        assert_eq!(played.result, (-32020, "no".to_owned()));
        assert_eq!(played.trace.iter().filter(|line| line.contains("tools/call")).count(), 2);
    }
}
