//! One tool per output, as a board with many outputs has, each with a complete description.

use mcp_sansio::RawJson;

/// Returns the output that a tool switches.
pub(crate) fn of(tool: &str) -> Option<u8> {
    let digits = tool.strip_prefix("output_")?.as_bytes();
    let [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = *digits else { return None };
    Some((tens - b'0') * 10 + (ones - b'0'))
}

macro_rules! output {
    ($digits:literal, $wired:literal) => {
        Tool::new(concat!("output_", $digits), ARGUMENTS)
            .title(concat!("Output ", $digits))
            .description(concat!(
                "Switches output ",
                $digits,
                " (",
                $wired,
                ") on or off. The output keeps its state until it is switched again."
            ))
            .output_schema(RESULT)
            .annotations(
                ToolAnnotations::new()
                    .destructive_hint(false)
                    .idempotent_hint(true)
                    .open_world_hint(false),
            )
    };
}
pub(crate) use output;

pub(crate) const ARGUMENTS: RawJson<'static> = RawJson::from_static(
    r#"{"type":"object","properties":{"on":{"type":"boolean","description":"true: on, false: off"}},"required":["on"],"additionalProperties":false}"#,
);
pub(crate) const RESULT: RawJson<'static> = RawJson::from_static(
    r#"{"type":"object","properties":{"output":{"type":"integer"},"on":{"type":"boolean"},"was":{"type":"boolean","description":"Before the call"}},"required":["output","on","was"]}"#,
);
