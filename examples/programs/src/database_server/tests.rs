//! Tests of the tools, in both eras, without a process or a pipe.

use mcp_sansio::types::{CallToolResult, Implementation};
use mcp_sansio::{ClientConfig, ClientFeatures, Era, Json};
use mcp_sansio_adapters::blocking;
use mcp_sansio_adapters::blocking::client::Client;
use serde_json::{Value, json};

use super::{CATALOG, CONFIG, Database};

static CLIENT: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("test", "1"), ClientFeatures::NONE);

/// Calls a tool as a client of each era does; returns what both get.
fn call(tool: &str, arguments: Value) -> Result<Value, String> {
    let app = blocking::App::new(&CONFIG).catalog(&CATALOG);
    let [legacy, modern] = Era::ALL.map(|era| {
        let database = Database::sample();
        let memory = app.clone().memory(move |ctx| ctx.call_async_tool(&database));
        output(&mut memory.connect(&CLIENT, era).unwrap(), tool, &arguments)
    });
    assert_eq!(legacy, modern);
    modern
}

fn output(client: &mut Client<'_>, tool: &str, arguments: &Value) -> Result<Value, String> {
    let result = client.call_tool(tool, &Json(arguments)).map_err(|error| error.to_string())?;
    let result: CallToolResult<'_> = result.to().unwrap();
    match result.structured_content {
        Some(content) => Ok(content.to().unwrap()),
        None => Err(result.content.iter().next().unwrap().unwrap().as_text().unwrap().to_string()),
    }
}

#[test]
fn a_query_returns_rows() {
    let sql = "SELECT people, city FROM cities WHERE city = 'Oslo'";
    let found =
        json!({"columns": ["people", "city"], "rows": [[717_710, "Oslo"]], "truncated": false});
    assert_eq!(call("query", json!({ "sql": sql })), Ok(found));
}

#[test]
fn a_query_returns_no_more_rows_than_the_limit() {
    let sql = "SELECT at FROM readings, cities";
    let found = json!({"columns": ["at"], "rows": [[0], [1]], "truncated": true});
    assert_eq!(call("query", json!({ "sql": sql, "limit": 2 })), Ok(found));
}

#[test]
fn the_model_reads_why_a_query_fails() {
    let why = "There is no column \"mayor\"".to_owned();
    assert_eq!(call("query", json!({ "sql": "SELECT mayor FROM cities" })), Err(why));
}

#[test]
fn arguments_are_checked() {
    let why = "limit: must be an integer from 1 to 1000, is 5000\nsql: is missing, must be a string of 1 to 2000 characters".to_owned();
    assert_eq!(call("query", json!({"limit": 5000})), Err(why));
}

#[test]
fn tables_are_listed() {
    assert_eq!(call("tables", json!({})), Ok(json!({"names": ["cities", "readings"]})));
}

#[test]
fn columns_are_listed() {
    assert_eq!(
        call("describe", json!({"table": "cities"})),
        Ok(json!({"names": ["city", "people"]}))
    );
}

#[test]
fn a_query_stops_when_its_result_is_not_wanted_any_more() {
    let sql = "SELECT at FROM readings, readings, readings, readings WHERE at = -1";
    let found = Database::sample().select(sql, 1, |done| done < 2_000_000);
    assert_eq!(found.err().as_deref(), Some("The query was stopped"));
}

#[test]
fn the_catalog_is_valid() {
    CATALOG.check().unwrap();
}
