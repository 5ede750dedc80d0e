//! A server in the memory of its client, in virtual time.

use std::time::{Duration, Instant as StdInstant};

use mcp_sansio::types::{CallToolParams, TextResult};
use mcp_sansio::{
    CallOptions, ClientConfig, Era, Instant, Progress, RawJson, RequestHandle, ServerEvent,
};
use mcp_sansio_adapters::blocking::client::{CallError, Client, Error as ClientError};
use mcp_sansio_adapters::blocking::{App, Context, Error, Handler, Memory};

use super::SERVER;

static CLIENT: ClientConfig = super::CLIENT.call_timeout(HOUR).call_limit(HOUR);
const HOUR: Duration = Duration::from_secs(3600);

fn call(client: &mut Client<'_>) -> Result<String, ClientError> {
    Ok(client.call_tool("t", &RawJson::EMPTY)?.as_json().as_str().to_owned())
}

fn silent(_: ServerEvent<'_>, _: &mut Context<'_>) -> Result<(), Error> {
    Ok(())
}

/// Responds to a call half an hour later.
#[derive(Default)]
struct Slow(Option<(RequestHandle, Instant)>);

impl Handler for Slow {
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        if let ServerEvent::Request(request) = event {
            self.0 = Some((request.handle, ctx.now().saturating_add(HOUR / 2)));
            ctx.progress(request.handle, &Progress::of(1u32))?;
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<Instant> {
        self.0.map(|(_, due)| due)
    }

    fn on_timer(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let Some((request, _)) = self.0.take() else { return Ok(()) };
        ctx.respond(request, &TextResult::new("late"))
    }
}

#[test]
fn half_an_hour_passes_at_once() {
    let begun = StdInstant::now();
    for era in Era::ALL {
        let memory = Memory::new(&SERVER, Slow::default());
        let clock = memory.clock();
        let mut client = memory.connect(&CLIENT, era).unwrap();
        assert!(call(&mut client).unwrap().contains("late"));
        assert_eq!(clock(), Instant::from_millis(1_800_000), "{era:?}");
    }
    assert!(begun.elapsed() < HOUR / 2);
}

#[test]
fn a_call_without_a_response_times_out() {
    for era in Era::ALL {
        let memory = Memory::new(&SERVER, silent);
        let clock = memory.clock();
        let mut client = memory.connect(&CLIENT, era).unwrap();
        let error = call(&mut client).unwrap_err();
        assert!(matches!(error, ClientError::Call { error: CallError::TimedOut, .. }), "{error}");
        assert_eq!(clock(), Instant::from_millis(3_600_000));
        // The connection goes on.
        client.run_for(HOUR).unwrap();
    }
}

#[test]
fn a_call_that_would_wait_for_ever_fails() {
    let mut client = Memory::new(&SERVER, silent).connect(&super::CLIENT, Era::Modern).unwrap();
    let options = CallOptions::new().timeout(Duration::MAX).limit(Duration::MAX);
    let error = client.request("tools/call", &CallToolParams::new("t"), options).unwrap_err();
    assert!(error.to_string().contains("nothing left to wait for"), "{error}");
}

#[test]
fn an_error_of_the_handler_ends_the_connection_and_the_client_reconnects() {
    let mut broken = true;
    let memory = App::new(&SERVER).memory(|ctx| match std::mem::take(&mut broken) {
        true => Err(std::io::Error::other("the disk is gone").into()),
        false => ctx.respond(&TextResult::new("back")),
    });
    let mut client = memory.connect(&CLIENT, Era::Legacy).unwrap();
    let error = call(&mut client).unwrap_err();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    client.reconnect().unwrap();
    assert!(call(&mut client).unwrap().contains("back"));
}

#[test]
fn long_responses_pass_whole() {
    let text = "x".repeat(3 << 20);
    for era in Era::ALL {
        let text = text.clone();
        let memory = App::new(&SERVER).memory(move |ctx| ctx.respond(&TextResult::new(&text)));
        let mut client = memory.connect(&CLIENT, era).unwrap();
        assert!(call(&mut client).unwrap().len() > 3 << 20);
    }
}
