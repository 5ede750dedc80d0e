//! Calls the fleet that `run` starts, of which each request may reach another server, with our own
//! client.
//!
//!     fleet-client URL CALLS QUESTIONS CHANGES
//!
//! It prints a line for each era: the client, what it has done, and what of that went wrong.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_sansio::types::{Implementation, SubscriptionFilter, Text};
use mcp_sansio::{Changed, ClientConfig, ClientEvent, ClientFeatures, Era, RawJson};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::blocking::client::{
    BlockingHttpTransport, CallId, Client, Connector, Handler, InputResponse, OwnedInputRequest,
};

static CONFIG: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::ELICITATION_FORM);
const ACCEPTED: RawJson<'static> = RawJson::from_static(r#"{"action":"accept","content":{}}"#);

/// Accepts everything, and counts what it is told.
#[derive(Clone, Default)]
struct Counts {
    subscriptions: Arc<AtomicUsize>,
    changes: Arc<AtomicUsize>,
}

impl Handler for Counts {
    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        question.respond(&ACCEPTED)
    }

    fn on_event(&mut self, _: Option<CallId>, event: &ClientEvent<'_>) {
        let count = match event {
            ClientEvent::Listening { .. } => &self.subscriptions,
            ClientEvent::Changed { what: Changed::Resource { .. }, .. } => &self.changes,
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn said(client: &mut Client<'_>, tool: &str, text: &str) -> Outcome<String> {
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    let result = client.call_tool(tool, &RawJson::parse(&arguments)?)?;
    let result: serde_json::Value = result.to()?;
    Ok(result["content"][0]["text"].as_str().ok_or("no text")?.to_owned())
}

/// Runs the client until so many have come, at most for 5 seconds. Returns whether they have.
fn wait(client: &mut Client<'_>, count: &AtomicUsize, expected: usize) -> Outcome<bool> {
    let until = Instant::now() + Duration::from_secs(5);
    while count.load(Ordering::Relaxed) < expected && Instant::now() < until {
        client.run_for(Duration::from_millis(10))?;
    }
    Ok(count.load(Ordering::Relaxed) >= expected)
}

fn visit(url: &str, [calls, questions, changes]: [usize; 3], era: Era) -> Outcome {
    let counts = Counts::default();
    let connector = Connector::new(&CONFIG).era(Some(era)).handler(counts.clone());
    let http = HttpTransport::new(url)?.on_diagnostic(|it| eprintln!("{it}"));
    let client = &mut connector.connect(BlockingHttpTransport::new(http))?;
    let mut right = 0;
    for call in 0..calls {
        let text = said(client, "echo", &call.to_string())?;
        right += usize::from(text.starts_with(&format!("{call} n")));
    }
    for _ in 0..questions {
        right += usize::from(said(client, "ask", "")? == "accept");
    }
    let uris = [Text::new("fleet:resource")];
    client.listen(&SubscriptionFilter::new().resource_subscriptions(&uris))?;
    wait(client, &counts.subscriptions, usize::from(era == Era::Modern))?;
    for _ in 0..changes {
        // The subscription may be told of a change that was made just before it.
        let before = counts.changes.load(Ordering::Relaxed);
        said(client, "touch", "")?;
        right += usize::from(wait(client, &counts.changes, before + 1)?);
    }
    let all = calls + questions + changes;
    println!("mcp-sansio, {era:?}\t{all}\t{}", all - right);
    Ok(())
}

fn main() -> Outcome {
    let words: Vec<_> = env::args().skip(1).collect();
    let [url, counts @ ..] = &words[..] else {
        return Err("usage: fleet-client URL CALLS QUESTIONS CHANGES".into());
    };
    let counts: Result<Vec<usize>, _> = counts.iter().map(|count| count.parse()).collect();
    let counts = counts?.try_into().map_err(|_| "three counts are needed")?;
    for era in [Era::Legacy, Era::Modern] {
        visit(url, counts, era)?;
    }
    Ok(())
}
