//! The tools and prompts that ask the client for input, and what they make of it.
//!
//! One implementation for both eras. Up to 2025-11-25 an input request is a request to the client,
//! and `ask` waits for its response. From 2026-07-28 on the result of the call contains the input
//! request; the client repeats the call with its response, and the function runs again from its
//! start (basic/patterns/mrtr).

use mcp_sansio::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    InputRequest, ListRootsResult, RequestedSchema, SamplingMessage, SamplingMessageContentBlock,
};
use mcp_sansio::{ClientFeatures, OrToolError as _, OwnedInputResponse, RawJson, ToolError};
use mcp_sansio_adapters::asynchronous::Context;

use super::forms;
use super::tools::argument;

/// Runs the tool or prompt of this name and returns its text.
pub(super) async fn ask(ctx: &Context) -> Result<String, ToolError<'static>> {
    match ctx.name() {
        "test_sampling" => ask_model(ctx, "answer", &argument(ctx, "prompt")?).await,
        "test_elicitation" => form(ctx, "user", &argument(ctx, "message")?, &forms::USER).await,
        "test_elicitation_sep1034_defaults" => {
            form(ctx, "form", "Please check what is filled in", &forms::DEFAULTS).await
        }
        "test_elicitation_sep1330_enums" => {
            form(ctx, "form", "Please choose", &forms::CHOICES).await
        }
        "test_streaming_elicitation" => {
            form(ctx, "confirm", "Shall I go on?", &forms::CONFIRM).await
        }
        "test_input_required_result_elicitation" => {
            form(ctx, "user_name", "What is your name?", &forms::NAME).await
        }
        "test_input_required_result_prompt" => {
            form(ctx, "user_context", "What is the prompt for?", &forms::CONTEXT).await
        }
        "test_input_required_result_sampling" => capital(ctx).await,
        "test_input_required_result_list_roots" => list_roots(ctx).await,
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => with_state(ctx).await,
        "test_input_required_result_multiple_inputs" => multiple_inputs(ctx).await,
        "test_input_required_result_multi_round" => multi_round(ctx).await,
        "test_input_required_result_capabilities" => whatever_is_possible(ctx).await,
        "test_missing_capability" => needs_sampling(ctx),
        other => Err(format!("{other} is only listed").into()),
    }
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
    Ok(format!("state-ok: {}", form(ctx, "confirm", "Shall I go on?", &forms::CONFIRM).await?))
}

/// Sends three input requests in one round.
async fn multiple_inputs(ctx: &Context) -> Result<String, ToolError<'static>> {
    ctx.set_request_state("asked");
    let messages = [SamplingMessage::user("Greet somebody, in one sentence")];
    let questions = [
        ("user_name", form_of("What is your name?", &forms::NAME)),
        ("greeting", InputRequest::CreateMessage(CreateMessageParams::new(&messages, MAX_TOKENS))),
        ("client_roots", InputRequest::ListRoots),
    ];
    let [name, greeting, roots] = ctx.request_inputs(questions).await?;
    Ok(format!("{}; {}; {}", filled_in(&name, &forms::NAME)?, said(&greeting)?, count(&roots)?))
}

/// Takes two rounds, the second of which depends on the first.
async fn multi_round(ctx: &Context) -> Result<String, ToolError<'static>> {
    ctx.set_request_state("asked");
    let first = form(ctx, "step1", "Step 1: what is your name?", &forms::NAME).await?;
    let second =
        form(ctx, "step2", &format!("Step 2: after {first}, which colour?"), &forms::COLOUR)
            .await?;
    Ok(format!("{first}; {second}"))
}

/// Sends the input requests that the client's capabilities permit.
async fn whatever_is_possible(ctx: &Context) -> Result<String, ToolError<'static>> {
    if ctx.client().contains(ClientFeatures::SAMPLING) {
        capital(ctx).await
    } else if ctx.client().contains(ClientFeatures::ELICITATION_FORM) {
        form(ctx, "user_name", "What is your name?", &forms::NAME).await
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
async fn form(
    ctx: &Context,
    key: &str,
    message: &str,
    form: &RequestedSchema<'static>,
) -> Result<String, ToolError<'static>> {
    filled_in(&ctx.request_input(key, form_of(message, form)).await?, form)
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

fn form_of<'a>(message: &'a str, form: &RequestedSchema<'a>) -> InputRequest<'a> {
    InputRequest::Elicit(ElicitParams::form(message, *form))
}

/// Describes the response to a form.
fn filled_in(
    answer: &OwnedInputResponse,
    form: &RequestedSchema<'_>,
) -> Result<String, ToolError<'static>> {
    let answer: ElicitResult<'_> = answer.to()?;
    if answer.action == ElicitAction::Accept {
        let content = answer.content.unwrap_or(RawJson::EMPTY);
        let error = |error| format!("The answer does not fit the form: {error}");
        form.validate_content(content).map_err(error).or_input_response()?;
    }
    Ok(match (answer.action, answer.content) {
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
    })
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
