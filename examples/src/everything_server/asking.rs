//! Tools and prompts that ask the client something first: written once, for both eras.
//!
//! A [`Script`] is run from its start for each attempt. It reads the answers that it has; when one is missing, it asks and ends.
//!
//! - Up to 2025-11-25 a question is a request to the client. The [`Conversation`] waits in a table, and the script is run again when
//!   the last answer is there.
//! - From 2026-07-28 on the questions *are* the answer to the request. The client sends the request once more, with its answers, and
//!   carries what we want to remember.

use mcp_sansio::types::{GetPromptResult, PromptMessage, TextResult};
use mcp_sansio::{Call, ClientCapability, PeerError, RawJson, Request, RequestHandle, RpcError};

use super::attempt::{Answers, Attempt, Fault, Script, Subject, Verdict};
use super::seal::Seal;
use super::{Result, Session};

/// All that wait for answers of legacy clients.
#[derive(Default)]
pub(super) struct Conversations {
    waiting: Vec<Conversation>,
    seal: Seal,
}

/// A request between its attempts. It owns what it needs: the frame that the request came in is gone by then.
struct Conversation {
    script: Script,
    subject: Subject,
    request: RequestHandle,
    is_modern: bool,
    client: ClientCapability,
    arguments: String,
    answers: Answers,
    /// Whether this is not the first attempt: a legacy client has answered, or our state has come back from a modern one.
    resumed: bool,
    /// Questions to a legacy client, and their keys.
    open: Vec<(Call, &'static str)>,
}

impl Conversations {
    /// Makes the first attempt at a request; in the modern era also every other.
    pub(super) fn start(
        &mut self,
        script: Script,
        subject: Subject,
        request: &Request<'_>,
        session: &mut Session<'_, '_>,
    ) -> Result<()> {
        let mut conversation = Conversation {
            script,
            subject,
            request: request.handle,
            is_modern: request.revision.is_modern(),
            client: request.capabilities,
            arguments: request.arguments().raw().as_str().to_owned(),
            answers: Answers::default(),
            resumed: false,
            open: Vec::new(),
        };
        if let Some(state) = request.request_state().filter(|_| conversation.is_modern) {
            let state = state.to_string();
            let Some(remembered) = self.seal.open(&subject.purpose(), &state) else {
                return session.respond_error(request.handle, &RpcError::invalid_params("requestState is not ours")).map(|_| ());
            };
            conversation.answers.add_all(remembered);
            conversation.resumed = true;
        }
        if let Some(answers) = request.params.get("inputResponses").filter(|_| conversation.is_modern) {
            conversation.answers.add_all(answers.as_str());
        }
        self.attempt(conversation, session)
    }

    /// A legacy client has answered a question.
    pub(super) fn answered(
        &mut self,
        call: Call,
        outcome: std::result::Result<RawJson<'_>, PeerError<'_>>,
        session: &mut Session<'_, '_>,
    ) -> Result<()> {
        let Some((mut conversation, key)) = self.take(call) else { return Ok(()) };
        match outcome {
            Ok(answer) => conversation.answers.add(key, answer),
            Err(error) => {
                let message = error.message().map(|message| message.to_string()).unwrap_or_default();
                return conversation.fail(&format!("The client refused ({}): {message}", error.code()), session);
            }
        }
        if !conversation.open.is_empty() {
            self.waiting.push(conversation);
            return Ok(());
        }
        conversation.resumed = true;
        self.attempt(conversation, session)
    }

    /// A legacy client has not answered.
    pub(super) fn timed_out(&mut self, call: Call, session: &mut Session<'_, '_>) -> Result<()> {
        match self.take(call) {
            Some((conversation, _)) => conversation.fail("The client did not answer in time", session),
            None => Ok(()),
        }
    }

    /// The client has cancelled the request; the session withdraws the questions.
    pub(super) fn drop_request(&mut self, request: RequestHandle) {
        self.waiting.retain(|conversation| conversation.request != request);
    }

    fn attempt(&mut self, mut conversation: Conversation, session: &mut Session<'_, '_>) -> Result<()> {
        let outcome = (conversation.script)(&mut Attempt {
            arguments: RawJson::parse(&conversation.arguments).unwrap_or(RawJson::EMPTY),
            client: conversation.client,
            resumed: conversation.resumed,
            answers: &conversation.answers,
            open: &mut conversation.open,
            request: conversation.request,
            subject: conversation.subject,
            is_modern: conversation.is_modern,
            seal: &self.seal,
            session,
        });
        match outcome {
            Ok(Verdict::Asked) if conversation.is_modern => Ok(()),
            Ok(Verdict::Asked) => {
                self.waiting.push(conversation);
                Ok(())
            }
            Ok(Verdict::Done(text)) => conversation.succeed(&text, session),
            // For the model to read, so that it can do better.
            Err(Fault::Argument(reason)) => session.respond(conversation.request, &TextResult::error(&reason)).map(|_| ()),
            Err(Fault::Unusable(reason)) => conversation.fail(&reason, session),
            Err(Fault::Missing(needs)) => {
                session.respond_error(conversation.request, &RpcError::missing_capability(needs)).map(|_| ())
            }
            Err(Fault::Session(error)) => Err(error),
        }
    }

    /// The conversation that waits for this answer, and the key of the question.
    fn take(&mut self, call: Call) -> Option<(Conversation, &'static str)> {
        let asked = |conversation: &Conversation| conversation.open.iter().position(|(open, _)| *open == call);
        let (at, question) = self.waiting.iter().enumerate().find_map(|(at, conversation)| Some((at, asked(conversation)?)))?;
        let mut conversation = self.waiting.swap_remove(at);
        let (_, key) = conversation.open.swap_remove(question);
        Some((conversation, key))
    }
}

impl Conversation {
    fn succeed(&self, text: &str, session: &mut Session<'_, '_>) -> Result<()> {
        match self.subject {
            Subject::Tool(_) => session.respond(self.request, &TextResult::new(text)),
            Subject::Prompt(_) => session.respond(self.request, &GetPromptResult::new(&[PromptMessage::user(text)])),
        }
        .map(|_| ())
    }

    /// In the modern era the answers are parameters of the request, so bad ones are its fault. Before, the request was right, and only the tool
    /// came to nothing.
    fn fail(&self, reason: &str, session: &mut Session<'_, '_>) -> Result<()> {
        match self.subject {
            Subject::Tool(_) if !self.is_modern => session.respond(self.request, &TextResult::error(reason)),
            _ if self.is_modern => session.respond_error(self.request, &RpcError::invalid_params(reason)),
            _ => session.respond_error(self.request, &RpcError::internal(reason)),
        }
        .map(|_| ())
    }
}
