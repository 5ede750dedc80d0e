//! The tools and prompts that ask the client for input, and what they make of it.
//!
//! One implementation for both eras. Up to 2025-11-25 an input request is a request to the client,
//! and `ask` waits for its response. From 2026-07-28 on the result of the call contains the input
//! request; the client repeats the call with its response, and the function runs again from its
//! start (basic/patterns/mrtr).

use mcp_sansio::typed::InputObject;
use mcp_sansio::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    InputRequest, ListRootsResult, SamplingMessage, SamplingMessageContentBlock,
};
use mcp_sansio::{ClientFeatures, OrToolError as _, OwnedInputResponse, RawJson, ToolError};
use mcp_sansio_adapters::asynchronous::Context;

use super::catalog::Question;
use super::forms::{self, Colour, Confirm, Defaults, Name, Purpose, User};

impl Question<'_> {
    /// Runs the tool and returns its text.
    pub(super) async fn run(self, ctx: &Context) -> Result<String, ToolError<'static>> {
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
            Self::TestMissingCapability => needs_sampling(ctx),
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

/// Asks what a prompt is for.
pub(super) async fn purpose(ctx: &Context) -> Result<String, ToolError<'static>> {
    form::<Purpose>(ctx, "user_context", "What is the prompt for?").await
}

async fn name(ctx: &Context) -> Result<String, ToolError<'static>> {
    form::<Name>(ctx, "user_name", "What is your name?").await
}

async fn capital(ctx: &Context) -> Result<String, ToolError<'static>> {
    ask_model(ctx, "capital_question", "What is the capital of France?").await
}

async fn list_roots(ctx: &Context) -> Result<String, ToolError<'static>> {
    count(&ctx.request_input("client_roots", InputRequest::ListRoots).await?)
}

/// Requires the request state, since a response alone might come from another call.
async fn with_state(ctx: &Context) -> Result<String, ToolError<'static>> {
    ctx.set_request_state("asked");
    Ok(format!("state-ok: {}", form::<Confirm>(ctx, "confirm", "Shall I go on?").await?))
}

/// Sends three input requests in one round.
async fn multiple_inputs(ctx: &Context) -> Result<String, ToolError<'static>> {
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
async fn multi_round(ctx: &Context) -> Result<String, ToolError<'static>> {
    ctx.set_request_state("asked");
    let first = form::<Name>(ctx, "step1", "Step 1: what is your name?").await?;
    let message = format!("Step 2: after {first}, which colour?");
    let second = form::<Colour>(ctx, "step2", &message).await?;
    Ok(format!("{first}; {second}"))
}

/// Sends the input requests that the client's capabilities permit.
async fn whatever_is_possible(ctx: &Context) -> Result<String, ToolError<'static>> {
    if ctx.client().contains(ClientFeatures::SAMPLING) {
        capital(ctx).await
    } else if ctx.client().contains(ClientFeatures::ELICITATION_FORM) {
        name(ctx).await
    } else if ctx.client().contains(ClientFeatures::ROOTS) {
        list_roots(ctx).await
    } else {
        Ok("There is nothing that the client could be asked".to_owned())
    }
}

fn needs_sampling(ctx: &Context) -> Result<String, ToolError<'static>> {
    if ctx.client().contains(ClientFeatures::SAMPLING) {
        Ok("The client can sample".to_owned())
    } else {
        Err(ToolError::missing_capability(ClientFeatures::SAMPLING))
    }
}

/// Sends a form; returns the response as text.
async fn form<T: for<'f> InputObject<'f>>(
    ctx: &Context,
    key: &str,
    message: &str,
) -> Result<String, ToolError<'static>> {
    filled_in::<T>(&ctx.request_input(key, InputRequest::form::<T>(message)).await?)
}

/// Sends the form that cannot be derived.
async fn choices(ctx: &Context) -> Result<String, ToolError<'static>> {
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
async fn ask_model(ctx: &Context, key: &str, prompt: &str) -> Result<String, ToolError<'static>> {
    let messages = [SamplingMessage::user(prompt)];
    said(
        &ctx.request_input(
            key,
            InputRequest::CreateMessage(CreateMessageParams::new(&messages, MAX_TOKENS)),
        )
        .await?,
    )
}

/// Checks and describes the response to a form.
fn filled_in<'f, T: InputObject<'f>>(
    answer: &'f OwnedInputResponse,
) -> Result<String, ToolError<'static>> {
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
    }
}

/// Describes the response to a sampling request.
fn said(answer: &OwnedInputResponse) -> Result<String, ToolError<'static>> {
    let answer: CreateMessageResult<'_> = answer.to()?;
    let texts = answer
        .content
        .iter()
        .flatten()
        .filter_map(|block: SamplingMessageContentBlock<'_>| block.as_text());
    Ok(format!(
        "{} says: {}",
        answer.model,
        texts.map(|text| text.to_string()).collect::<Vec<_>>().join(" ")
    ))
}

/// Describes the client's roots.
fn count(answer: &OwnedInputResponse) -> Result<String, ToolError<'static>> {
    let answer: ListRootsResult<'_> = answer.to()?;
    let uris: Vec<String> =
        answer.roots.iter().flatten().map(|root| root.uri.to_string()).collect();
    Ok(format!("{} roots: {}", uris.len(), uris.join(" ")))
}

const MAX_TOKENS: u64 = 100;
