//! The tools and prompts that ask the client for input, and what they make of it: one
//! implementation for both eras. For clients of 2026-07-28 it runs from its start in each round.

use mcp_sansio::typed::InputObject;
use mcp_sansio::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    InputRequest, ListRootsResult, SamplingMessage,
};
use mcp_sansio::{
    ClientFeatures, OrToolError as _, OwnedInputResponse, RawJson, ToolContext, ToolError,
};

use super::Answer;
use super::catalog::Question;
use super::forms::{self, Colour, Confirm, Defaults, Name, User};

impl Question<'_> {
    /// Runs the tool and returns its text.
    pub(super) async fn run(self, ctx: ToolContext<'_>) -> Answer {
        match self {
            Self::TestSampling { prompt } => ask_model(ctx, "answer", &prompt).await,
            Self::TestElicitation { message } => form::<User>(ctx, "user", &message).await,
            Self::TestElicitationSep1034Defaults => {
                form::<Defaults>(ctx, "form", "Please check what is filled in").await
            }
            Self::TestElicitationSep1330Enums => choices(ctx).await,
            Self::TestStreamingElicitation => {
                form::<Confirm>(ctx, "confirm", "Shall I go on?").await
            }
            Self::TestMissingCapability if can(ctx, SAMPLING) => Ok("The client can sample".into()),
            Self::TestMissingCapability => Err(ToolError::missing_capability(SAMPLING)),
            Self::TestInputRequiredResultElicitation => name(ctx).await,
            Self::TestInputRequiredResultSampling => capital(ctx).await,
            Self::TestInputRequiredResultListRoots => list_roots(ctx).await,
            Self::TestInputRequiredResultRequestState
            | Self::TestInputRequiredResultTamperedState => with_state(ctx).await,
            Self::TestInputRequiredResultMultipleInputs => multiple_inputs(ctx).await,
            Self::TestInputRequiredResultMultiRound => multi_round(ctx).await,
            Self::TestInputRequiredResultCapabilities => whatever_is_possible(ctx).await,
        }
    }
}

async fn name(ctx: ToolContext<'_>) -> Answer {
    form::<Name>(ctx, "user_name", "What is your name?").await
}

async fn capital(ctx: ToolContext<'_>) -> Answer {
    ask_model(ctx, "capital_question", "What is the capital of France?").await
}

async fn list_roots(ctx: ToolContext<'_>) -> Answer {
    count(&ctx.request_input("client_roots", InputRequest::ListRoots).await?)
}

/// Requires the request state, since a response alone might come from another call.
async fn with_state(ctx: ToolContext<'_>) -> Answer {
    ctx.set_request_state("asked");
    Ok(format!("state-ok: {}", form::<Confirm>(ctx, "confirm", "Shall I go on?").await?))
}

/// Sends three input requests in one round.
async fn multiple_inputs(ctx: ToolContext<'_>) -> Answer {
    ctx.set_request_state("asked");
    let messages = [SamplingMessage::user("Greet somebody, in one sentence")];
    let questions = [
        ("user_name", InputRequest::form::<Name>("What is your name?")),
        ("greeting", InputRequest::CreateMessage(CreateMessageParams::new(&messages, MAX_TOKENS))),
        ("client_roots", InputRequest::ListRoots),
    ];
    let [name, greeting, roots] = ctx.request_inputs(questions).await?;
    Ok(format!("{}; {}; {}", filled_in::<Name>(&name)?, said(&greeting)?, count(&roots)?))
}

/// Takes two rounds, the second of which depends on the first.
async fn multi_round(ctx: ToolContext<'_>) -> Answer {
    ctx.set_request_state("asked");
    let first = form::<Name>(ctx, "step1", "Step 1: what is your name?").await?;
    let message = format!("Step 2: after {first}, which colour?");
    let second = form::<Colour>(ctx, "step2", &message).await?;
    Ok(format!("{first}; {second}"))
}

/// Sends the input requests that the client's capabilities permit.
async fn whatever_is_possible(ctx: ToolContext<'_>) -> Answer {
    if can(ctx, SAMPLING) {
        capital(ctx).await
    } else if can(ctx, ClientFeatures::ELICITATION_FORM) {
        name(ctx).await
    } else if can(ctx, ClientFeatures::ROOTS) {
        list_roots(ctx).await
    } else {
        Ok("There is nothing that the client could be asked".to_owned())
    }
}

fn can(ctx: ToolContext<'_>, feature: ClientFeatures) -> bool {
    ctx.request().capabilities.contains(feature)
}

/// Sends a form; returns the response as text.
pub(super) async fn form<T: for<'f> InputObject<'f>>(
    ctx: ToolContext<'_>,
    key: &str,
    message: &str,
) -> Answer {
    filled_in::<T>(&ctx.request_input(key, InputRequest::form::<T>(message)).await?)
}

/// Sends the form that cannot be derived.
async fn choices(ctx: ToolContext<'_>) -> Answer {
    let question = ElicitParams::form("Please choose", forms::CHOICES);
    let answer = ctx.request_input("form", InputRequest::Elicit(question)).await?;
    let answer: ElicitResult<'_> = answer.to()?;
    if answer.action == ElicitAction::Accept {
        let error = |error| format!("The answer does not fit the form: {error}");
        let content = answer.content.unwrap_or(RawJson::EMPTY);
        forms::CHOICES.validate_content(content).map_err(error).or_input_response()?;
    }
    Ok(describe(&answer))
}

/// Sends a sampling request; returns the response as text.
async fn ask_model(ctx: ToolContext<'_>, key: &str, prompt: &str) -> Answer {
    let messages = [SamplingMessage::user(prompt)];
    let question = CreateMessageParams::new(&messages, MAX_TOKENS);
    said(&ctx.request_input(key, InputRequest::CreateMessage(question)).await?)
}

/// Checks and describes the response to a form.
pub(super) fn filled_in<'f, T: InputObject<'f>>(answer: &'f OwnedInputResponse) -> Answer {
    answer.to_form::<T>()?;
    Ok(describe(&answer.to()?))
}

fn describe(answer: &ElicitResult<'_>) -> String {
    match (answer.action, answer.content) {
        (ElicitAction::Accept, Some(content)) => {
            let fields = content.members().map(|(name, value)| match value.as_string() {
                Some(text) => format!("{name} = {text}"),
                None => format!("{name} = {}", value.as_str()),
            });
            format!("accepted: {}", fields.collect::<Vec<_>>().join(", "))
        }
        (ElicitAction::Accept, None) => "accepted".to_owned(),
        (ElicitAction::Decline, _) => "declined".to_owned(),
        (ElicitAction::Cancel, _) => "cancelled".to_owned(),
        (action, _) => action.as_str().to_owned(),
    }
}

/// Describes the response to a sampling request.
fn said(answer: &OwnedInputResponse) -> Answer {
    let answer: CreateMessageResult<'_> = answer.to()?;
    let blocks = answer.content.iter().flatten();
    let texts: Vec<_> = blocks.filter_map(|block| Some(block.as_text()?.to_string())).collect();
    Ok(format!("{} says: {}", answer.model, texts.join(" ")))
}

/// Describes the client's roots.
fn count(answer: &OwnedInputResponse) -> Answer {
    let answer: ListRootsResult<'_> = answer.to()?;
    let uris: Vec<String> =
        answer.roots.iter().flatten().map(|root| root.uri.to_string()).collect();
    Ok(format!("{} roots: {}", uris.len(), uris.join(" ")))
}

const SAMPLING: ClientFeatures = ClientFeatures::SAMPLING;
const MAX_TOKENS: u64 = 100;
