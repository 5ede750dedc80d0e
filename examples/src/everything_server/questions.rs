//! The tools and prompts that ask the client something: what they ask, and what they make of the answers.

use mcp_sansio::ClientCapability;
use mcp_sansio::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult, InputRequest, RequestedSchema,
    SamplingContent, SamplingMessage,
};

use super::attempt::{Attempt, Fault, Outcome, Script, Verdict};
use super::forms;

/// The script of a tool, if it asks.
pub(super) fn of_tool(name: &str) -> Option<Script> {
    Some(match name {
        "test_sampling" => sampling,
        "test_elicitation" => elicitation,
        "test_elicitation_sep1034_defaults" => {
            |attempt| form(attempt, "form", "Please check what is filled in", &forms::DEFAULTS)
        }
        "test_elicitation_sep1330_enums" => |attempt| form(attempt, "form", "Please choose", &forms::CHOICES),
        "test_streaming_elicitation" => |attempt| form(attempt, "confirm", "Shall I go on?", &forms::CONFIRM),
        "test_input_required_result_elicitation" => |attempt| form(attempt, "user_name", "What is your name?", &forms::NAME),
        "test_input_required_result_sampling" => capital,
        "test_input_required_result_list_roots" => list_roots,
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => with_state,
        "test_input_required_result_multiple_inputs" => multiple_inputs,
        "test_input_required_result_multi_round" => multi_round,
        "test_input_required_result_capabilities" => whatever_is_possible,
        "test_missing_capability" => needs_sampling,
        _ => return None,
    })
}

/// The script of a prompt, if it asks.
pub(super) fn of_prompt(name: &str) -> Option<Script> {
    match name {
        "test_input_required_result_prompt" => {
            Some(|attempt| form(attempt, "user_context", "What is the prompt for?", &forms::CONTEXT))
        }
        _ => None,
    }
}

/// Asks the model what the arguments say.
fn sampling(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    let prompt = attempt.argument("prompt")?;
    ask_model(attempt, "answer", &prompt)
}

fn capital(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    ask_model(attempt, "capital_question", "What is the capital of France?")
}

/// Asks the person, with the message that the arguments say.
fn elicitation(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    let message = attempt.argument("message")?;
    form(attempt, "user", &message, &forms::USER)
}

fn list_roots(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    match roots(attempt)? {
        Some(roots) => Ok(Verdict::Done(roots)),
        None => attempt.ask(&[("client_roots", InputRequest::ListRoots)]),
    }
}

/// Does not go on without the state: an answer alone could come from anywhere.
fn with_state(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    match attempt.elicited("confirm", &forms::CONFIRM)? {
        Some(answer) if attempt.resumed => Ok(Verdict::Done(format!("state-ok: {}", show(&answer)))),
        _ => attempt.ask_and_remember(&[("confirm", form_of("Shall I go on?", &forms::CONFIRM))]),
    }
}

/// Three questions in one round.
fn multiple_inputs(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    let name = attempt.elicited("user_name", &forms::NAME)?;
    let greeting = attempt.sampled("greeting")?;
    let roots = roots(attempt)?;
    if let (Some(name), Some(greeting), Some(roots)) = (&name, &greeting, &roots) {
        return Ok(Verdict::Done(format!("{}; {}; {roots}", show(name), said(greeting))));
    }
    // What was answered is remembered: only the rest is asked.
    let messages = [SamplingMessage::user("Greet somebody, in one sentence")];
    let questions = [
        (name.is_none(), ("user_name", form_of("What is your name?", &forms::NAME))),
        (greeting.is_none(), ("greeting", InputRequest::CreateMessage(CreateMessageParams::new(&messages, MAX_TOKENS)))),
        (roots.is_none(), ("client_roots", InputRequest::ListRoots)),
    ];
    let missing: Vec<_> = questions.into_iter().filter_map(|(is_missing, question)| is_missing.then_some(question)).collect();
    attempt.ask_and_remember(&missing)
}

/// Two rounds, the second of which depends on the first.
fn multi_round(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    let Some(first) = attempt.elicited("step1", &forms::NAME)? else {
        return attempt.ask_and_remember(&[("step1", form_of("Step 1: what is your name?", &forms::NAME))]);
    };
    let Some(second) = attempt.elicited("step2", &forms::COLOUR)? else {
        let message = format!("Step 2: after {}, which colour?", show(&first));
        return attempt.ask_and_remember(&[("step2", form_of(&message, &forms::COLOUR))]);
    };
    Ok(Verdict::Done(format!("{}; {}", show(&first), show(&second))))
}

/// Looks at what the client declared before it asks.
fn whatever_is_possible(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    if attempt.client.contains(ClientCapability::SAMPLING) {
        capital(attempt)
    } else if attempt.client.contains(ClientCapability::ELICITATION_FORM) {
        form(attempt, "user_name", "What is your name?", &forms::NAME)
    } else if attempt.client.contains(ClientCapability::ROOTS) {
        list_roots(attempt)
    } else {
        Ok(Verdict::Done("There is nothing that the client could be asked".to_owned()))
    }
}

fn needs_sampling(attempt: &mut Attempt<'_, '_, '_>) -> Outcome {
    if attempt.client.contains(ClientCapability::SAMPLING) {
        Ok(Verdict::Done("The client can sample".to_owned()))
    } else {
        Err(Fault::Missing(ClientCapability::SAMPLING))
    }
}

/// One form, and its answer as text.
fn form(attempt: &mut Attempt<'_, '_, '_>, key: &'static str, message: &str, form: &RequestedSchema<'static>) -> Outcome {
    match attempt.elicited(key, form)? {
        Some(answer) => Ok(Verdict::Done(show(&answer))),
        None => attempt.ask(&[(key, form_of(message, form))]),
    }
}

/// One question to the model, and its answer as text.
fn ask_model(attempt: &mut Attempt<'_, '_, '_>, key: &'static str, prompt: &str) -> Outcome {
    if let Some(answer) = attempt.sampled(key)? {
        return Ok(Verdict::Done(said(&answer)));
    }
    let messages = [SamplingMessage::user(prompt)];
    attempt.ask(&[(key, InputRequest::CreateMessage(CreateMessageParams::new(&messages, MAX_TOKENS)))])
}

/// The client's roots as text, if there is an answer.
fn roots(attempt: &Attempt<'_, '_, '_>) -> Result<Option<String>, Fault> {
    let Some(answer) = attempt.roots("client_roots")? else { return Ok(None) };
    let uris: Vec<String> = answer.roots.iter().flatten().map(|root| root.uri.to_string()).collect();
    Ok(Some(format!("{} roots: {}", uris.len(), uris.join(" "))))
}

fn form_of<'a>(message: &'a str, form: &RequestedSchema<'a>) -> InputRequest<'a> {
    InputRequest::Elicit(ElicitParams::form(message, *form))
}

/// What a person did, and filled in.
fn show(answer: &ElicitResult<'_>) -> String {
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

/// What a model said.
fn said(answer: &CreateMessageResult<'_>) -> String {
    let texts = answer.content.iter().flatten().filter_map(|block: SamplingContent<'_>| block.as_text());
    format!("{} says: {}", answer.model, texts.map(|text| text.to_string()).collect::<Vec<_>>().join(" "))
}

const MAX_TOKENS: u64 = 100;
