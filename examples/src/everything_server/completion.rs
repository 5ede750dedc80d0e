//! `completion/complete`.

use mcp_sansio::types::{CompleteParams, CompleteResult, Completion, Text};
use mcp_sansio::{Request, RpcError};

use super::{Result, Session};

/// Answers with those of a few words that begin with what has been typed.
pub(super) fn complete(request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
    let Ok(params) = request.params.to::<CompleteParams<'_>>() else {
        return session.respond_error(request.handle, &RpcError::invalid_params("ref and argument are needed")).map(|_| ());
    };
    let words: &[&'static str] = match params.argument.name {
        name if name == "arg1" => &["paris", "park", "party"],
        name if name == "id" => &["1", "12", "123"],
        _ => &[],
    };
    let typed = params.argument.value.to_string();
    let values: Vec<Text<'_>> = words.iter().filter(|word| word.starts_with(&typed)).map(|word| Text::new(word)).collect();
    session.respond(request.handle, &CompleteResult::new(Completion::new(&values))).map(|_| ())
}
