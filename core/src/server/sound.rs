//! Whether what a client is asked for is as the protocol wants it, before a byte of it is written.

use crate::lifecycle::Revision;
use crate::types::{CreateMessageParams, ElicitParams, FieldSchema, InputRequest, InputRequiredResult, Map};

/// A form is flat, and a page has a URL (client/elicitation).
pub(super) fn elicitation(params: &ElicitParams<'_>, revision: Revision) -> bool {
    match params {
        ElicitParams::Form(form) => {
            let schema = form.requested_schema;
            // Fields of our own are written as 2025-06-18 knows them; JSON is written as it is.
            let lists = revision == Revision::V2025_06_18 && schema.as_json().is_some();
            schema.check().is_ok()
                && !(lists && schema.fields().flatten().any(|field| matches!(field.schema, FieldSchema::SelectMany(_))))
        }
        ElicitParams::Url(page) => page.is_valid(revision),
    }
}

/// Each use of a tool is answered at once, by a message that has nothing else (client/sampling).
pub(super) fn sampling(params: &CreateMessageParams<'_>, _: Revision) -> bool {
    params.check().is_ok()
}

/// Questions with a key each, by one of the three methods, or a state, or both (2026-07-28, basic/patterns/mrtr).
pub(super) fn input(input: &InputRequiredResult<'_>) -> bool {
    let mut questions = input.input_requests.iter().flat_map(Map::iter).enumerate();
    !input.is_empty()
        && questions.all(|(at, (key, question))| {
            let mut before = input.input_requests.iter().flat_map(Map::iter).take(at);
            !before.any(|(other, _)| other == key)
                && match question {
                    Ok(InputRequest::Elicit(params)) => elicitation(&params, Revision::LATEST),
                    Ok(InputRequest::CreateMessage(params)) => sampling(&params, Revision::LATEST),
                    Ok(InputRequest::ListRoots) => true,
                    Ok(InputRequest::Other(_)) | Err(_) => false,
                }
        })
}
