//! What a modern server wants to know before it answers (2026-07-28, basic/patterns/mrtr).

use std::future::poll_fn;
use std::task::{Context, Poll};

use mcp_sansio::types::Text;
use mcp_sansio::{ErrorCode, OwnedJson, RawJson, Revision, Violation};
use serde::{Serialize, Serializer};

use super::error::CallError;
use super::link::Link;
use super::question::{Answering, InputRefusal, OwnedInputRequest};

/// What goes with the next attempt of a request.
pub(super) struct Inputs {
    /// What the server answered: its state is in it.
    result: OwnedJson,
    round: u8,
    answers: Option<Answers>,
}

/// Answers by the keys of their questions.
struct Answers(Vec<(String, OwnedJson)>);

impl Inputs {
    /// Has all questions answered, at the same time.
    pub(super) async fn find<const N: usize>(
        link: &Link<N>,
        result: OwnedJson,
        round: u8,
    ) -> Result<Self, CallError> {
        let questions = result.as_raw().get("inputRequests");
        let answers = match questions {
            Some(questions) => Some(Answers(answer_all(link, questions)?.await?)),
            None => None,
        };
        Ok(Self { result, round, answers })
    }

    pub(super) fn as_core(&self) -> mcp_sansio::Inputs<'_, impl Serialize> {
        let state = self
            .result
            .as_raw()
            .get("requestState")
            .and_then(RawJson::as_string)
            .map(Text::from_json);
        let inputs = mcp_sansio::Inputs::new(self.round).state(state);
        match &self.answers {
            Some(answers) => inputs.responses(answers),
            None => inputs,
        }
    }
}

/// Calls for all answers, and waits for them.
fn answer_all<const N: usize>(
    link: &Link<N>,
    questions: RawJson<'_>,
) -> Result<
    impl Future<Output = Result<Vec<(String, OwnedJson)>, CallError>> + Send + use<N>,
    CallError,
> {
    let mut open = Vec::new();
    for (key, question) in questions.members() {
        if open.len() == MAX_QUESTIONS {
            return Err(CallError::InputRefused(InputRefusal::error(
                ErrorCode::InvalidParams,
                "More questions at once than are answered",
            )));
        }
        let question = OwnedInputRequest::read(question, Revision::LATEST)
            .map_err(|_| CallError::Invalid(Violation::InvalidResult))?;
        open.push(Open { key: key.to_string(), found: Err((link.answerer)(question)) });
    }
    Ok(poll_fn(move |cx| {
        let mut all = true;
        for open in &mut open {
            all &= open.poll(cx)?.is_ready();
        }
        if !all {
            return Poll::Pending;
        }
        Poll::Ready(Ok(open
            .drain(..)
            .filter_map(|open| Some((open.key, open.found.ok()?)))
            .collect()))
    }))
}

/// A question and its answer, or what finds it.
struct Open {
    key: String,
    found: Result<OwnedJson, Answering>,
}

impl Open {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let Err(answering) = &mut self.found else { return Poll::Ready(Ok(())) };
        match answering.as_mut().poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(refusal)) => return Poll::Ready(Err(CallError::InputRefused(refusal))),
            Poll::Ready(Ok(answer)) => self.found = Ok(answer.0),
        }
        Poll::Ready(Ok(()))
    }
}

impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, answer)| (key, answer)))
    }
}

/// Questions that a server may ask at once, instead of an answer.
const MAX_QUESTIONS: usize = 64;
