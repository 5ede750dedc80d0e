//! The blocking client and the everything server, in both eras: over a process, with threads, and
//! over a socket.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::{
    CallToolResult, CompleteParams, CompleteResult, CompletionArgument, CompletionReference,
    ContentBlock, CreateMessageResult, ElicitResult, GetPromptResult, Implementation, InputRequest,
    ListRootsResult, LoggingLevel, Prompt, PromptReference, ReadResourceResult, Resource,
    ResourceData, Role, Root, SamplingMessageContent, SubscriptionFilter, Text,
};
use mcp_sansio::{
    CallOptions, Changed, ClientConfig, ClientEvent, ClientFeatures, Era, Json, NotAllowed,
    RawJson, SendError,
};
use mcp_sansio_adapters::blocking::client::{
    CallError, CallId, Client, Connector, Error, Handler, InputResponse, OwnedInputRequest,
    Process, ThreadedStreams, Transport,
};
use serde_json::json;

static CONFIG: ClientConfig<'static> = ClientConfig::new(
    Implementation::new("tests", "1"),
    ClientFeatures::ELICITATION_FORM.with(ClientFeatures::SAMPLING).with(ClientFeatures::ROOTS),
)
.call_timeout(Duration::from_secs(30));

/// Accepts all requests of the server, and records them.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<String>>>);

impl Person {
    fn note(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    fn noted(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Handler for Person {
    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        match question.as_input_request() {
            InputRequest::Elicit(_) => {
                self.note("form");
                question.respond(&ElicitResult::accept(RawJson::from_static(
                    r#"{"name":"Ada","username":"ada","email":"ada@example.com","color":"red","context":"a test","ok":true}"#,
                )))
            }
            InputRequest::CreateMessage(_) => {
                self.note("model");
                question.respond(&CreateMessageResult::new(
                    Role::Assistant,
                    SamplingMessageContent::text("Paris"),
                    "none",
                ))
            }
            InputRequest::ListRoots => {
                self.note("roots");
                question.respond(&ListRootsResult::new(&[Root::new("file:///home/ada")]))
            }
            _ => question.refuse(),
        }
    }

    fn on_event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Log { .. } => self.note("log"),
            ClientEvent::Progress { .. } => {
                self.note(if about.is_some() { "progress" } else { "progress of nothing" })
            }
            ClientEvent::Listening { .. } => self.note("listening"),
            ClientEvent::Changed { what: Changed::Resource { uri }, .. } => {
                self.note(&format!("changed {uri}"))
            }
            ClientEvent::Changed { .. } => self.note("changed"),
            event => self.note(&format!("{event:?}")),
        }
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everything-server"));
    command.arg("--stdio");
    command
}

fn connect<'t>(person: &Person, era: Era, transport: impl Transport + 't) -> Client<'t> {
    let connector = Connector::new(&CONFIG).handler(person.clone());
    // A modern server is detected.
    if era == Era::Legacy { connector.era(era) } else { connector }.connect(transport).unwrap()
}

#[test]
fn stdio_09_all_features_in_the_modern_era() {
    all_features(Era::Modern, Process::new(command()));
}

#[test]
fn stdio_09_all_features_in_the_legacy_era() {
    all_features(Era::Legacy, Process::new(command()));
}

#[test]
fn all_features_through_threads() {
    for era in [Era::Modern, Era::Legacy] {
        let mut child = command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        all_features(
            era,
            ThreadedStreams::new(
                "child",
                child.stdout.take().unwrap(),
                child.stdin.take().unwrap(),
            ),
        );
        assert!(child.wait().unwrap().success());
    }
}

#[cfg(unix)]
#[test]
fn cust_04_all_features_over_a_socket() {
    use mcp_sansio_adapters::blocking::client::PolledStreams;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    for era in [Era::Modern, Era::Legacy] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (input, output) = (OwnedFd::from(theirs.try_clone().unwrap()), OwnedFd::from(theirs));
        let mut child = command().stdin(input).stdout(output).spawn().unwrap();
        all_features(era, PolledStreams::new("socket", ours.try_clone().unwrap(), ours).unwrap());
        assert!(child.wait().unwrap().success());
    }
}

fn all_features(era: Era, transport: impl Transport) {
    let person = Person::default();
    let mut client = connect(&person, era, transport);
    assert_eq!(client.era(), Some(era));
    let client = &mut client;
    lists(client);
    tools(client, &person);
    resources(client, &person);
    asks(client, &person);
    assert_eq!(person.noted(), [""; 0]);
}

fn lists(client: &mut Client<'_>) {
    let tools = client.list_tools().unwrap();
    assert!(tools.len() > 20 && tools.iter().all(|tool| tool.is_ok()));
    assert!(
        client
            .list_prompts()
            .unwrap()
            .iter()
            .any(|prompt: Result<Prompt<'_>, _>| prompt.unwrap().name == "test_simple_prompt")
    );
    assert!(
        client
            .list_resources()
            .unwrap()
            .iter()
            .any(|it: Result<Resource<'_>, _>| it.unwrap().uri == "test://static-text")
    );
    let templates = client.list_resource_templates().unwrap();
    assert_eq!(templates.iter().count(), 1);
}

fn tools(client: &mut Client<'_>, person: &Person) {
    let answer = client.call_tool("structured", &Json(json!({"city": "Łódź"}))).unwrap();
    assert!(answer.as_json().get("content").is_some());
    let answer = client.call_tool("test_error_handling", &Json(json!({}))).unwrap();
    assert_eq!(answer.to::<CallToolResult<'_>>().unwrap().is_error, Some(true));
    assert!(
        matches!(client.call_tool("no such tool", &Json(json!({}))), Err(Error::Call { error: CallError::Server(fault), .. }) if fault.code == -32602)
    );

    client
        .request(
            "tools/call",
            &Json(json!({"name": "test_tool_with_progress"})),
            CallOptions::new().progress(true),
        )
        .unwrap();
    assert_eq!(person.noted(), ["progress"; 3]);

    client.set_log_level(LoggingLevel::Info).unwrap();
    client.call_tool("test_tool_with_logging", &Json(json!({}))).unwrap();
    assert_eq!(person.noted(), ["log"; 3]);

    let typed = CompletionArgument::new("arg1", "pari");
    let params = CompleteParams::new(
        CompletionReference::Prompt(PromptReference::new("test_prompt_with_arguments")),
        typed,
    );
    let completed = client.complete(&params).unwrap();
    let values = completed.to::<CompleteResult<'_>>().unwrap().completion.values;
    assert!(values.iter().map(Result::unwrap).eq(["paris"]));

    let prompt = client
        .get_prompt("test_prompt_with_arguments", &Json(json!({"arg1": "a", "arg2": "b"})))
        .unwrap();
    let message = prompt.to::<GetPromptResult<'_>>().unwrap().messages.get(0).unwrap().unwrap();
    assert!(
        matches!(message.content, ContentBlock::Text(text) if text.text == "The arguments are 'a' and 'b'")
    );
}

fn resources(client: &mut Client<'_>, person: &Person) {
    let read = client.read_resource("test://static-text").unwrap();
    let contents = read.to::<ReadResourceResult<'_>>().unwrap().contents.get(0).unwrap().unwrap();
    assert!(matches!(contents.data, ResourceData::Text(text) if !text.is_empty()));

    let changed = "changed test://watched-resource";
    let uris = [Text::new("test://watched-resource")];
    let filter = SubscriptionFilter::new().resource_subscriptions(&uris);
    let listen = client.listen(&filter).unwrap();
    client.call_tool("test_trigger_resource_update", &Json(json!({}))).unwrap();
    let modern = client.era() == Some(Era::Modern);
    assert_eq!(person.noted(), if modern { vec!["listening", changed] } else { vec![changed] });
    assert!(client.cancel(listen, None).unwrap());
    client.call_tool("test_trigger_resource_update", &Json(json!({}))).unwrap();
    assert_eq!(person.noted(), [""; 0]);
}

/// The same handler serves input requests and requests of a legacy server.
fn asks(client: &mut Client<'_>, person: &Person) {
    for (tool, arguments, asked, says) in [
        ("test_elicitation", json!({"message": "Who?"}), &["form"][..], "ada@example.com"),
        ("test_sampling", json!({"prompt": "Capital?"}), &["model"], "Paris"),
        ("test_input_required_result_list_roots", json!({}), &["roots"], "file:///home/ada"),
        ("test_input_required_result_multi_round", json!({}), &["form", "form"], ""),
        ("test_input_required_result_request_state", json!({}), &["form"], ""),
    ] {
        let answer = client.call_tool(tool, &Json(arguments)).unwrap();
        assert!(answer.as_json().as_str().contains(says), "{tool}: {answer:?}");
        assert_eq!(person.noted(), asked, "{tool}");
    }
    let answer =
        client.call_tool("test_input_required_result_multiple_inputs", &Json(json!({}))).unwrap();
    let mut asked = person.noted();
    asked.sort();
    assert_eq!(asked, ["form", "model", "roots"], "{answer:?}");
    client.get_prompt("test_input_required_result_prompt", &Json(json!({}))).unwrap();
    assert_eq!(person.noted(), ["form"]);
}

#[test]
fn a_declined_input_request_ends_a_modern_call_and_fails_a_legacy_tool() {
    let mut client = Connector::new(&CONFIG).connect(Process::new(command())).unwrap();
    let asking = "test_input_required_result_elicitation";
    let error = client.call_tool(asking, &Json(json!({}))).unwrap_err();
    assert!(
        matches!(&error, Error::Call { error: CallError::InputRefused { result, .. }, .. } if result.as_json().get("inputRequests").is_some()),
        "{error}"
    );
    let connector = Connector::new(&CONFIG).era(Era::Legacy);
    let mut client = connector.connect(Process::new(command())).unwrap();
    let answer = client.call_tool(asking, &Json(json!({}))).unwrap();
    assert_eq!(answer.to::<CallToolResult<'_>>().unwrap().is_error, Some(true), "{answer:?}");
}

#[test]
fn a_closure_is_a_handler() {
    let declines = |question: &OwnedInputRequest| question.respond(&ElicitResult::decline());
    let mut client =
        Connector::new(&CONFIG).handler(declines).connect(Process::new(command())).unwrap();
    let answer =
        client.call_tool("test_input_required_result_elicitation", &Json(json!({}))).unwrap();
    assert!(answer.as_json().as_str().contains("decline"), "{answer:?}");
}

#[test]
fn time_spent_on_input_does_not_count_toward_the_timeout() {
    // The server waits for this response while the call is open.
    let slow = |question: &OwnedInputRequest| {
        std::thread::sleep(Duration::from_millis(2_500));
        question.respond(&ElicitResult::decline())
    };
    let mut client = Connector::new(&CONFIG)
        .handler(slow)
        .era(Era::Legacy)
        .connect(Process::new(command()))
        .unwrap();
    let options = CallOptions::new().timeout(Duration::from_secs(2)).limit(Duration::from_secs(2));
    let params = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
    assert!(
        client
            .request("tools/call", &Json(params), options)
            .unwrap()
            .as_json()
            .as_str()
            .contains("decline")
    );
}

#[test]
fn the_client_notifies_only_legacy_servers() {
    static ROOTS: ClientConfig<'static> =
        ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::ROOTS_LIST_CHANGED);
    let mut client =
        Connector::new(&ROOTS).era(Era::Legacy).connect(Process::new(command())).unwrap();
    client.roots_changed().unwrap();
    client.notify("notifications/of/ours", &Json(json!({"n": 1}))).unwrap();
    assert!(matches!(
        client.notify("notifications/cancelled", &Json(json!({}))),
        Err(Error::Call {
            error: CallError::NotSent(SendError::NotAllowed(NotAllowed::Method)),
            ..
        })
    ));
    client.call_tool("test_simple_text", &Json(json!({}))).unwrap();
    let mut client = Connector::new(&ROOTS).connect(Process::new(command())).unwrap();
    assert!(matches!(
        client.roots_changed(),
        Err(Error::Call {
            error: CallError::NotSent(SendError::NotAllowed(NotAllowed::Revision)),
            ..
        })
    ));
}
