//! Whether what a client is asked for is as the protocol wants it, before a byte of it is written.

use crate::lifecycle::Revision;
use crate::types::{CreateMessageParams, ElicitParams, InputRequest, InputRequiredResult};

/// A form is flat, and a page has a URL (client/elicitation).
pub(super) fn elicitation(params: &ElicitParams<'_>, revision: Revision) -> bool {
    match params {
        ElicitParams::Form(form) => form.requested_schema.is_valid_for(revision),
        ElicitParams::Url(page) => page.is_valid_for(revision),
    }
}

/// Each use of a tool is answered at once, by a message that has nothing else (client/sampling).
pub(super) fn sampling(params: &CreateMessageParams<'_>, _: Revision) -> bool {
    params.validate_tool_results().is_ok()
}

/// Questions with a key each, by one of the three methods, or a state, or both (2026-07-28,
/// basic/patterns/mrtr).
pub(super) fn input(input: &InputRequiredResult<'_>) -> bool {
    let mut at = 0usize;
    !input.is_empty()
        && input.all_requests(&mut |key, question| {
            let mut left = at;
            at += 1;
            let unused = input.all_requests(&mut |other, _| {
                let before = left > 0;
                left = left.saturating_sub(1);
                !before || other != key
            });
            unused
                && match question {
                    Some(InputRequest::Elicit(params)) => elicitation(params, Revision::LATEST),
                    Some(InputRequest::CreateMessage(params)) => sampling(params, Revision::LATEST),
                    Some(InputRequest::ListRoots) => true,
                    Some(InputRequest::Other(_)) | None => false,
                }
        })
}
