//! The client scenarios of the official conformance suite.

use mcp_sansio::Json;
use mcp_sansio::RawJson;
use mcp_sansio::types::SkillResources;
use mcp_sansio_adapters::blocking::client::{Client, Error};
use serde_json::{Value, json};

use super::tour::tour;

/// Runs a scenario.
pub(crate) fn play(scenario: &str, client: &mut Client<'_>) -> Result<(), Error> {
    match scenario {
        "tour" => return tour(client),
        // References in schemas are never fetched.
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {
            client.list_tools()?;
        }
        "tools_call" => {
            client.list_tools()?;
            client.call_tool("add_numbers", &Json(json!({"a": 5, "b": 3})))?;
        }
        "sse-retry" => {
            client.list_tools()?;
            client.call_tool("test_reconnection", &Json(json!({})))?;
        }
        // The suite inspects the header fields of the requests.
        "http-standard-headers" => return tour(client),
        "http-custom-headers" => {
            client.list_tools()?;
            let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
            let context: Value = serde_json::from_str(&context).map_err(std::io::Error::other)?;
            for call in context["toolCalls"].as_array().into_iter().flatten() {
                client.call_tool(
                    call["name"].as_str().unwrap_or_default(),
                    &Json(&call["arguments"]),
                )?;
            }
        }
        // The list omits tools with invalid annotations; the rest can be called.
        "http-invalid-tool-headers" => {
            let tools = client.list_tools()?;
            for name in tools.raw().filter_map(|tool| tool.get("name").and_then(RawJson::as_string))
            {
                client.call_tool(
                    &name.to_string(),
                    &Json(json!({"region": "us-west1", "value": "x"})),
                )?;
            }
        }
        "elicitation-sep1034-client-defaults" => {
            client.list_tools()?;
            client.call_tool("test_client_elicitation_defaults", &Json(json!({})))?;
        }
        "sep-2322-client-request-state" => {
            client.list_tools()?;
            for tool in [
                "test_mrtr_echo_state",
                "test_mrtr_no_state",
                "test_mrtr_unrelated",
                "test_mrtr_no_result_type",
            ] {
                client.call_tool(tool, &Json(json!({})))?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let tools = client.list_tools()?;
            let tool = tools.raw().find(|tool| {
                tool.get("name")
                    .and_then(RawJson::as_string)
                    .is_some_and(|name| name == "json_schema_2020_12_tool")
            });
            let schema = tool
                .and_then(|tool| tool.get("inputSchema"))
                .map(|schema| serde_json::from_str::<Value>(schema.as_str()));
            client.call_tool(
                "json_schema_echo",
                &Json(json!({"schema": schema.and_then(Result::ok)})),
            )?;
        }
        // Nothing is read before it is needed.
        "sep-2640-client-no-prefetch" => {
            client.list_skills()?;
        }
        // Each skill is loaded, and then the files of it.
        "sep-2640-client-verify-digest"
        | "sep-2640-client-verify-size"
        | "sep-2640-client-verify-frontmatter" => {
            let skills = client.list_skills()?;
            for skill in skills.iter().flatten() {
                client.read_skill_file(&skill, &skill.uri.to_string())?;
                let SkillResources::Files(files) = skill.resources else { continue };
                for file in files.iter().flatten().filter(|file| file.uri != skill.uri) {
                    client.read_skill_file(&skill, &file.uri.to_string())?;
                }
            }
        }
        // The first request is refused, or a later one, or one that wants more scope.
        auth if auth.starts_with("auth/") => {
            client.list_tools()?;
            client.call_tool("test-tool", &Json(json!({})))?;
        }
        unknown => {
            let message = format!("unknown scenario `{unknown}`");
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, message).into());
        }
    }
    Ok(())
}
