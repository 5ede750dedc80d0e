//! Calls a fleet, of which each request may reach another server, with the official Rust SDK.
//!
//!     rmcp-fleet URL CALLS QUESTIONS CHANGES
//!
//! It prints a line for each revision: the client, what it has done, and what of that went wrong.

#![expect(deprecated, reason = "legacy subscriptions are meant to be tried")]

mod handler;

use std::env;
use std::error::Error;
use std::time::Duration;

use handler::Answers;
use rmcp::model::{CallToolRequestParams, ProtocolVersion, SubscribeRequestParams};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::json;
use tokio::time::{sleep, timeout};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Service = RunningService<RoleClient, Answers>;

const URI: &str = "fleet:resource";
const UPDATED: &str = "notifications/resources/updated";

async fn said(service: &Service, tool: &'static str, text: &str) -> Outcome<String> {
    let arguments = json!({ "text": text }).as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = service.call_tool(params).await?;
    Ok(result.content[0].as_text().ok_or("no text")?.text.clone())
}

async fn visit(url: &str, [calls, questions, changes]: [usize; 3], is_modern: bool) -> Outcome {
    let (revision, lifecycle) = if is_modern {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        (ProtocolVersion::V_2026_07_28, ClientLifecycleMode::Discover { preferred_versions })
    } else {
        (ProtocolVersion::V_2025_11_25, ClientLifecycleMode::Initialize)
    };
    let answers = Answers::new(revision.clone());
    let seen = answers.seen.clone();
    let transport = StreamableHttpClientTransport::from_uri(url);
    let service = answers.serve_with_lifecycle(transport, lifecycle).await?;
    let mut right = 0;
    for call in 0..calls {
        let text = said(&service, "echo", &call.to_string()).await?;
        right += usize::from(text.starts_with(&format!("{call} n")));
    }
    for _ in 0..questions {
        right += usize::from(said(&service, "ask", "").await? == "accept");
    }
    if is_modern {
        let filter = handler::typed(json!({ "resourceSubscriptions": [URI] }))?;
        let mut open = service.listen(filter).await?;
        for _ in 0..changes {
            said(&service, "touch", "").await?;
            right += usize::from(timeout(Duration::from_secs(5), open.next()).await??.is_some());
        }
    } else {
        service.subscribe(SubscribeRequestParams::new(URI)).await?;
        // The bus carries it to the server with the stream a moment after the response.
        sleep(Duration::from_secs(1)).await;
        // The subscription may be told of a change that was made just before it.
        let before = seen.all(UPDATED).len();
        for change in before + 1..=before + changes {
            said(&service, "touch", "").await?;
            right += usize::from(seen.wait(UPDATED, change).await.len() == change);
        }
    }
    service.cancel().await?;
    let all = calls + questions + changes;
    println!("rust rmcp 3.11.0 {revision}\t{all}\t{}", all - right);
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    let words: Vec<_> = env::args().skip(1).collect();
    let [url, counts @ ..] = &words[..] else { return Err("usage: see above".into()) };
    let counts: Result<Vec<usize>, _> = counts.iter().map(|count| count.parse()).collect();
    let counts = counts?.try_into().map_err(|_| "three counts are needed")?;
    for is_modern in [false, true] {
        visit(url, counts, is_modern).await?;
    }
    Ok(())
}
