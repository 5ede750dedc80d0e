//! One attempt of a tool or prompt that asks: what its script reads, and how it asks.

use std::collections::BTreeMap;

use mcp_sansio::types::{
    CreateMessageResult, ElicitAction, ElicitResult, InputRequest, InputRequiredResult, ListRootsResult, RequestedSchema,
};
use mcp_sansio::{Call, ClientCapability, ClientRequest, RawJson, RequestHandle};
use mcp_sansio_adapters::stdio;
use serde::Deserialize;

use super::Session;
use super::seal::Seal;

/// What a script reads, and what it asks through.
pub(super) struct Attempt<'a, 's, 'c> {
    pub(super) arguments: RawJson<'a>,
    /// What the client can be asked.
    pub(super) client: ClientCapability,
    /// Whether this is not the first attempt.
    pub(super) resumed: bool,
    pub(super) answers: &'a Answers,
    pub(super) open: &'a mut Vec<(Call, &'static str)>,
    pub(super) request: RequestHandle,
    pub(super) subject: Subject,
    pub(super) is_modern: bool,
    pub(super) seal: &'a Seal,
    pub(super) session: &'a mut Session<'s, 'c>,
}

impl<'a> Attempt<'a, '_, '_> {
    /// A string among the arguments.
    pub(super) fn argument(&self, name: &str) -> Result<String, Fault> {
        let argument = self.arguments.get(name).and_then(RawJson::as_string);
        argument.map(|text| text.to_string()).ok_or_else(|| Fault::Argument(format!("The argument {name} must be a string")))
    }

    /// What a person answered, if there is an answer; what was filled in fits the form.
    pub(super) fn elicited(&self, key: &str, form: &RequestedSchema<'static>) -> Result<Option<ElicitResult<'a>>, Fault> {
        let Some(answer) = self.answer::<ElicitResult<'a>>(key)? else { return Ok(None) };
        if answer.action == ElicitAction::Accept {
            let content = answer.content.unwrap_or(RawJson::EMPTY);
            form.validate(content)
                .map_err(|error| Fault::Unusable(format!("The answer {key} does not fit the form: {error}")))?;
        }
        Ok(Some(answer))
    }

    /// What the model said, if there is an answer.
    pub(super) fn sampled(&self, key: &str) -> Result<Option<CreateMessageResult<'a>>, Fault> {
        self.answer(key)
    }

    /// The client's roots, if there is an answer.
    pub(super) fn roots(&self, key: &str) -> Result<Option<ListRootsResult<'a>>, Fault> {
        self.answer(key)
    }

    fn answer<T: Deserialize<'a>>(&self, key: &str) -> Result<Option<T>, Fault> {
        let read = self.answers.get(key).map(RawJson::to).transpose();
        read.map_err(|error| Fault::Unusable(format!("The answer {key} cannot be used: {error}")))
    }

    /// Asks, in a single round: nothing has to be remembered.
    pub(super) fn ask(&mut self, questions: &[(&'static str, InputRequest<'_>)]) -> Outcome {
        self.put(questions, false)
    }

    /// Asks. The answers so far are there again in the next attempt, since a modern client carries them, sealed.
    pub(super) fn ask_and_remember(&mut self, questions: &[(&'static str, InputRequest<'_>)]) -> Outcome {
        self.put(questions, true)
    }

    fn put(&mut self, questions: &[(&'static str, InputRequest<'_>)], remember: bool) -> Outcome {
        let needs = questions.iter().fold(ClientCapability::NONE, |needs, (_, question)| needs.and(question.needs()));
        if !self.client.contains(needs) {
            return Err(Fault::Missing(needs));
        }
        if self.is_modern {
            let state = remember.then(|| self.seal.close(&self.subject.purpose(), &self.answers.to_json()));
            let mut required = InputRequiredResult::ask(questions);
            if let Some(state) = &state {
                required = required.request_state(state);
            }
            let _ = self.session.input_required(self.request, &required)?;
        } else {
            for (key, question) in questions {
                let call = self.send(question)?;
                self.open.push((call, key));
            }
        }
        Ok(Verdict::Asked)
    }

    fn send(&mut self, question: &InputRequest<'_>) -> Result<Call, Fault> {
        let sent = match question {
            InputRequest::Elicit(params) => self.session.request(&ClientRequest::elicitation(params).on_behalf_of(self.request)),
            InputRequest::CreateMessage(params) => {
                self.session.request(&ClientRequest::sampling(params).on_behalf_of(self.request))
            }
            _ => self.session.request(&ClientRequest::roots().on_behalf_of(self.request)),
        };
        sent.map_err(|error| match error {
            // The client has not sent `notifications/initialized` yet, or too many questions are open: no reason to end the session.
            stdio::Error::Send(error) => Fault::Unusable(format!("The client cannot be asked now: {error}")),
            error => Fault::Session(error),
        })
    }
}

/// What a tool or prompt does in one attempt.
pub(super) type Script = fn(&mut Attempt<'_, '_, '_>) -> Outcome;

/// How an attempt ends.
pub(super) type Outcome = Result<Verdict, Fault>;

pub(super) enum Verdict {
    /// With the text that answers the request.
    Done(String),
    /// With questions; they are on their way.
    Asked,
}

/// Why an attempt fails.
pub(super) enum Fault {
    /// The model called the tool with a wrong argument.
    Argument(String),
    /// The client answered something that does not fit the question.
    Unusable(String),
    /// The client cannot be asked that.
    Missing(ClientCapability),
    /// The session is over.
    Session(stdio::Error),
}

/// What asks.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    Tool(&'static str),
    Prompt(&'static str),
}

/// Answers by the key of the question, as JSON.
#[derive(Default)]
pub(super) struct Answers(BTreeMap<String, String>);

impl Answers {
    fn get(&self, key: &str) -> Option<RawJson<'_>> {
        self.0.get(key).and_then(|answer| RawJson::parse(answer).ok())
    }

    /// An answer that is there already stays: what was sealed cannot be replaced.
    pub(super) fn add(&mut self, key: &str, answer: RawJson<'_>) {
        self.0.entry(key.to_owned()).or_insert_with(|| answer.as_str().to_owned());
    }

    /// All members of a JSON object.
    pub(super) fn add_all(&mut self, json: &str) {
        for (key, answer) in RawJson::parse(json).unwrap_or(RawJson::EMPTY).members() {
            self.add(&key.to_string(), answer);
        }
    }

    fn to_json(&self) -> String {
        let members = self.0.iter().map(|(key, answer)| format!("{}:{answer}", serde_json::Value::from(key.as_str())));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

impl Subject {
    /// What a state is worth something for: not for another tool, nor for a prompt of the same name. Where more depends on it, the arguments, the
    /// client and an expiry belong in here too.
    pub(super) fn purpose(self) -> String {
        match self {
            Self::Tool(name) => format!("tools/call {name}"),
            Self::Prompt(name) => format!("prompts/get {name}"),
        }
    }
}

impl From<stdio::Error> for Fault {
    fn from(error: stdio::Error) -> Self {
        Self::Session(error)
    }
}
