//! Outcomes of tools as values.

use std::convert::Infallible;
use std::io;

use mcp_sansio::typed::{InputObject, Output, OutputObject};
use mcp_sansio::types::{ContentBlock, ReadResourceResult, ResourceContents, TextResult, Tool};
use mcp_sansio::{
    ClientFeatures, Encode, Entry, ErrorCode, OrToolError as _, Outcome, OwnedJson, RawJson,
    Revision, RpcError, Server, ToolError, ToolOutput, ToolResult,
};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, raw};

/// Sends an outcome through buffers of several sizes; returns the response, without the members of
/// its envelope.
fn sent(revision: Revision, outcome: &dyn for<'s> Outcome<Server<'s>>) -> Value {
    let mut responses = [1, 7, 64, 4096].map(|size| {
        let (mut peer, params) = (Peer::new(revision), json!({"name": "t"}));
        peer.ask_through(size, "tools/call", params, |server, request, tx| {
            outcome.send(server, request.handle, tx)
        })
    });
    assert!(responses.windows(2).all(|pair| pair[0] == pair[1]), "{responses:?}");
    let response = responses[0].as_object_mut().unwrap();
    let Some(mut result) = response.remove("result") else { return response["error"].clone() };
    for member in ["resultType", "_meta"] {
        result.as_object_mut().unwrap().remove(member);
    }
    result
}

fn text(text: &str, is_error: bool) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": text}]});
    if is_error {
        result["isError"] = json!(true);
    }
    result
}

/// Arrays in arrays, as deep as types may nest.
type Deep = [[[[[[u8; 2]; 1]; 1]; 1]; 1]; 2];

#[derive(Output)]
struct Rows<'a> {
    names: &'a [&'a str],
    deep: Deep,
    long: String,
    ratio: f64,
    next: Option<u8>,
}

fn rows() -> Rows<'static> {
    Rows {
        names: &["a \"quoted\" \\ name", "\n\u{1}\u{e9}\u{1f600}"],
        deep: [[[[[[1, 2]]]]], [[[[[3, 4]]]]]],
        long: "\"\\\u{e9}\n".repeat(300),
        ratio: 0.1,
        next: None,
    }
}

#[test]
fn tool_13_structured_output_is_also_text_through_any_buffer() {
    for revision in REVISIONS {
        let outcome: ToolResult<'_, Rows<'_>> = Ok(ToolOutput::Structured(rows()));
        let result = sent(revision, &outcome);
        let text = result["content"][0]["text"].as_str().unwrap();
        let written: Value = serde_json::from_str(text).unwrap();
        assert_eq!(written["names"][1], "\n\u{1}\u{e9}\u{1f600}");
        assert_eq!(written["long"], rows().long);
        assert_eq!(
            result.get("structuredContent"),
            (revision >= Revision::V2025_06_18).then_some(&written),
            "{revision}"
        );
        let schema: Value = serde_json::from_str(Rows::SCHEMA.as_str()).unwrap();
        assert!(jsonschema::draft202012::is_valid(&schema, &written));
    }
}

#[test]
fn tool_13_bytes_of_structured_output_are_in_its_text_through_any_buffer() {
    for (len, revision) in [1, 47, 49, 300, 900].into_iter().zip(REVISIONS) {
        let bytes = vec![0xfb; len];
        let contents = [ResourceContents::blob("file:///a", &bytes)];
        let resource = ReadResourceResult::new(&contents);
        let json = OwnedJson::new(&resource, revision).unwrap();
        let output = ToolOutput::Structured(&resource);
        let owned = OwnedJson::new(&output, revision).unwrap();
        let owned: Value = serde_json::from_str(owned.as_json().as_str()).unwrap();
        for result in [owned, sent(revision, &ToolResult::Ok(output))] {
            assert_eq!(result["content"][0]["text"], json.as_json().as_str(), "{len}");
        }
    }
}

#[test]
fn tool_13_other_values_than_objects_are_structured_since_2026_07_28() {
    for revision in REVISIONS {
        for (value, json) in
            [(&vec![1, 2] as &dyn Encode, json!([1, 2])), (&7_u8, json!(7)), (&"x", json!("x"))]
        {
            let outcome: ToolResult<'_, &dyn Encode> = Ok(ToolOutput::Structured(value));
            let result = sent(revision, &outcome);
            assert_eq!(result["content"][0]["text"], json.to_string());
            let expected = revision.is_modern().then_some(&json);
            assert_eq!(result.get("structuredContent"), expected, "{revision}");
        }
    }
}

#[test]
fn tool_16_tool_17_outcomes_are_results_or_errors_as_the_revision_requires() {
    let blocks = [ContentBlock::text("a"), ContentBlock::image(b"i", "image/png")];
    let schema = raw(r#"{"type":"object","properties":{"n":{"minimum":1}}}"#);
    let tool = Tool::new("t", RawJson::EMPTY).output_schema(schema);
    let entry = Entry::from(&tool);
    let schema_error = entry.check_structured(Some(raw(r#"{"n":0}"#))).unwrap_err();
    let faults = super::typed::Wait::parse(RawJson::EMPTY).unwrap_err();
    for revision in REVISIONS {
        let ok = |output: ToolOutput<'_>| {
            let rendered = OwnedJson::new(&output, revision).unwrap();
            let result = sent(revision, &ToolResult::Ok(output));
            assert_eq!(serde_json::from_str::<Value>(rendered.as_json().as_str()).unwrap(), result);
            result
        };
        assert_eq!(ok("hi \"you\"".into()), text("hi \"you\"", false));
        assert_eq!(ok(String::from("hi").into()), text("hi", false));
        assert_eq!(ok(ToolOutput::Blocks(&blocks))["content"][1]["type"], "image");

        let failed = |error: ToolError<'_>| {
            let response = sent(revision, &error);
            assert_eq!(sent(revision, &error.clone().into_owned()), response);
            assert_eq!(error.clone().into_owned().to_string(), error.to_string());
            response
        };
        assert_eq!(failed("no".into()), text("no", true));
        assert_eq!(failed(String::from("no").into()), text("no", true));
        let arguments = |why: &str| match revision {
            Revision::V2025_11_25 | Revision::V2026_07_28 => text(why, true),
            _ => json!({"code": -32602, "message": why}),
        };
        assert_eq!(failed(ToolError::invalid_arguments("n is odd")), arguments("n is odd"));
        assert_eq!(failed(schema_error.into()), arguments("n: must be at least 1, is 0"));
        assert_eq!(
            failed(faults.into()),
            arguments("seconds: is missing, must be an integer from 1 to 9")
        );
        assert_eq!(
            failed(RpcError::new(ErrorCode::Application(7), "seven").into()),
            json!({"code": 7, "message": "seven"})
        );
        let with_data = RpcError::invalid_params("seven").data(raw("[7]"));
        assert_eq!(
            failed(with_data.into()),
            json!({"code": -32602, "message": "seven", "data": [7]})
        );
        let lacks = failed(ToolError::missing_capability(ClientFeatures::SAMPLING));
        assert_eq!(lacks["data"], json!({"requiredCapabilities": {"sampling": {}}}));
        failed(ToolError::missing_capability(ClientFeatures::SAMPLING_TOOLS));
        let unusable = failed(ToolError::invalid_input_response("unusable"));
        if revision.is_modern() {
            assert_eq!(unusable, json!({"code": -32602, "message": "unusable"}));
        } else {
            assert_eq!(unusable, text("unusable", true));
        }

        // As the responses to other requests, which have no `isError`.
        let rpc = |error: ToolError<'_>| sent(revision, &error.into_rpc_error());
        assert_eq!(rpc("no".into()), json!({"code": -32603, "message": "no"}));
        for invalid in [ToolError::invalid_arguments, ToolError::invalid_input_response] {
            assert_eq!(rpc(invalid("odd")), json!({"code": -32602, "message": "odd"}));
        }
        let internal = json!({"code": -32603, "message": "Internal error"});
        for error in [ToolError::internal("/home/secret"), ToolError::GONE] {
            assert_eq!(rpc(error), internal);
        }
    }
}

/// Uses `?` with an error of each kind.
fn fails(how: u8) -> ToolResult<'static> {
    let secret = || io::Error::other("/home/secret");
    match how {
        0 => Err("text")?,
        1 => Err(String::from("string"))?,
        2 => Err(Box::<dyn std::error::Error>::from("/home/secret"))?,
        3 => Err(Box::<dyn std::error::Error + Send + Sync>::from("/home/secret"))?,
        4 => Err(secret()).or_internal()?,
        5 => Err(secret()).or_tool()?,
        6 => Err("x".parse::<u8>().unwrap_err()).or_arguments()?,
        7 => Err(RpcError::invalid_params("params"))?,
        _ => Ok("fine".into()),
    }
}

#[test]
fn the_text_of_an_inner_error_is_only_told_on_purpose() {
    let internal = json!({"code": -32603, "message": "Internal error"});
    for (how, expected, logged) in [
        (0, text("text", true), "text"),
        (1, text("string", true), "string"),
        (2, internal.clone(), "/home/secret"),
        (3, internal.clone(), "/home/secret"),
        (4, internal, "/home/secret"),
        (5, text("/home/secret", true), "/home/secret"),
        (6, text("invalid digit found in string", true), "invalid digit found in string"),
        (7, json!({"code": -32602, "message": "params"}), "params"),
    ] {
        let outcome = fails(how);
        assert_eq!(sent(Revision::LATEST, &outcome), expected, "{how}");
        let error = outcome.unwrap_err();
        // So as a task, which is read more often.
        let told = format!("{:?}", error.task_result(Revision::LATEST));
        assert_eq!(told.contains("/home/secret"), how == 5, "{told}");
        let error: Box<dyn std::error::Error> = Box::new(error);
        assert_eq!(error.to_string(), logged);
    }
    assert_eq!(sent(Revision::LATEST, &fails(8)), text("fine", false));
}

/// An outcome of the program beside those of tools.
struct Own;

impl Outcome<Server<'_>> for Own {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: mcp_sansio::RequestHandle,
        tx: &mut mcp_sansio::Tx<'_>,
    ) -> Result<(), mcp_sansio::SendError> {
        server.respond(request, &TextResult::new("own"), tx)
    }
}

#[test]
fn a_result_of_two_outcomes_is_one() {
    let own: Result<Own, Infallible> = Ok(Own);
    assert_eq!(sent(Revision::LATEST, &own), text("own", false));
}
