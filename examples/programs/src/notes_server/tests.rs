//! Tests of the application in both eras, without a process or a pipe.

use mcp_sansio::types::ElicitResult;
use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector};

use super::*;

static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("test", "0.1.0"), ClientFeatures::ELICITATION_FORM);

/// Does `work` as a client of this era, whose user agrees to everything.
async fn visit<R>(era: Era, notes: &Notes, work: impl AsyncFnOnce(Client) -> R) -> R {
    let app = App::new(&CONFIG, |ctx| handle(ctx, notes)).catalog(&CATALOG);
    let user = Connector::new(&CLIENT).era(era).on_input_request(async |form| {
        form.respond(&ElicitResult::accept(RawJson::from_static(r#"{"agreed":true}"#)))
    });
    app.memory(user, work).await
}

/// Calls a tool in each era with a note that exists already, and checks what the result contains.
fn calls(tool: &str, arguments: &'static str, expected: &str) {
    for era in Era::ALL {
        let note = Note { text: "Buy milk".to_owned(), priority: Priority::Urgent };
        let notes = Notes(RefCell::new(vec![note]));
        let arguments = RawJson::from_static(arguments);
        let called = visit(era, &notes, async |client| client.call_tool(tool, &arguments).await);
        let result = smol::block_on(called).unwrap();
        assert!(result.as_json().as_str().contains(expected), "{result:?}");
    }
}

#[test]
fn arguments_are_checked() {
    calls("add", "{}", "text: is missing, must be a string of 1 to 80 characters");
    calls("add", r#"{"text":"a","priority":"high"}"#, r#"must be one of \"normal\", \"urgent\""#);
}

#[test]
fn notes_are_numbered_and_found() {
    calls("add", r#"{"text":"Call Ada"}"#, r#""structuredContent":{"number":1}"#);
    let found = r#"{"notes":[{"text":"Buy milk","priority":"urgent"}]}"#;
    calls("find", r#"{"word":"milk"}"#, found);
    calls("find", r#"{"word":"bread"}"#, r#""structuredContent":{"notes":[]}"#);
}

#[test]
fn the_model_reads_why_notes_are_not_archived() {
    calls("archive", r#"{"folder":"/no/such/folder"}"#, "(os error ");
}

#[test]
fn notes_are_deleted_if_the_user_agrees() {
    calls("clear", "{}", "All notes are deleted");
}

#[test]
fn the_catalog_is_valid() {
    CATALOG.check().unwrap();
}

#[test]
fn a_note_is_a_resource_and_a_prompt_completes_its_number() -> Result<(), CallError> {
    let notes = Notes::default();
    for era in Era::ALL {
        smol::block_on(visit(era, &notes, async |client| {
            client.call_tool("add", &RawJson::from_static(r#"{"text":"Buy milk"}"#)).await?;
            let note = client.read_resource("note://0").await?;
            assert!(note.as_json().as_str().contains("Buy milk"));
            let prompt = RawJson::from_static(r#"{"number":"0"}"#);
            let prompt = client.get_prompt("summarize", &prompt).await?;
            assert!(prompt.as_json().as_str().contains("Read note://0"));
            Ok::<_, CallError>(())
        }))?;
    }
    Ok(())
}
