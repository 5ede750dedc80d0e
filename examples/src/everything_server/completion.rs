//! `completion/complete`.

use mcp_sansio::ToolError;
use mcp_sansio::types::{CompleteParams, CompleteResult, Completion, Text};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};

/// Returns the words that start with the typed text.
pub(super) fn complete(ctx: &Context) -> HandlerResult {
    let request = ctx.request();
    let params: CompleteParams<'_> = request
        .params
        .to()
        .map_err(|_| ToolError::invalid_arguments("ref and argument are needed"))?;
    let words: &[&'static str] = match params.argument.name {
        name if name == "arg1" => &["paris", "park", "party"],
        name if name == "id" => &["1", "12", "123"],
        _ => &[],
    };
    let typed = params.argument.value.to_string();
    let values: Vec<Text<'_>> =
        words.iter().filter(|word| word.starts_with(&typed)).map(|word| Text::new(word)).collect();
    ctx.reply(&CompleteResult::new(Completion::new(&values)))
}
