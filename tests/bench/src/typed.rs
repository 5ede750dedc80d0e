//! Arguments of a tool, read into a type. The derive checks them as well; serde_json does not.

use std::hint::black_box;

use mcp_sansio::RawJson;
use mcp_sansio::typed::{Input, InputObject};
use mcp_sansio::types::Text;
use serde::Deserialize;

use crate::Case;

/// 105 bytes.
const ARGUMENTS: &str = r#"{"sql":"select name, age from people where age > 30 order by name","limit":50,"mode":"exact","dry":false}"#;

#[derive(Input)]
struct Query<'a> {
    #[arg(length = 1..=200)]
    sql: Text<'a>,
    #[arg(range = 1..=1000, default = 100)]
    limit: u32,
    #[arg(default = Mode::Fast)]
    mode: Mode,
    dry: Option<bool>,
}

#[derive(Input, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Fast,
    Exact,
}

#[derive(Deserialize)]
struct SerdeQuery<'a> {
    sql: &'a str,
    limit: Option<u32>,
    mode: Option<Mode>,
    dry: Option<bool>,
}

pub(crate) fn cases() -> [Case; 2] {
    let raw = RawJson::from_static(ARGUMENTS);
    let derive = move || {
        let Query { sql, limit, mode, dry } = Query::parse(black_box(raw)).unwrap();
        sql.as_plain().unwrap_or_default().len() + sum(limit, Some(mode), dry)
    };
    let serde_json = || {
        let query: SerdeQuery<'_> = serde_json::from_str(black_box(ARGUMENTS)).unwrap();
        query.sql.len() + sum(query.limit.unwrap_or(100), query.mode, query.dry)
    };
    [
        Case { name: "arguments-105".into(), bytes: ARGUMENTS.len(), run: Box::new(derive) },
        Case {
            name: "serde_json-arguments-105".into(),
            bytes: ARGUMENTS.len(),
            run: Box::new(serde_json),
        },
    ]
}

fn sum(limit: u32, mode: Option<Mode>, dry: Option<bool>) -> usize {
    limit as usize + usize::from(matches!(mode, Some(Mode::Exact))) + usize::from(dry == Some(true))
}
