//! Tools that may go on as tasks. Nothing in them says so, but the status message.

use std::time::Duration;

use mcp_sansio::tasks::TasksConfig;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{ErrorCode, Progress, RpcError, ToolContext};
use mcp_sansio_adapters::asynchronous::TaskOptions;
use smol::Timer;

use super::Answer;
use super::catalog::TaskCall;
use super::forms::{Confirmation, Name};
use super::questions::{filled_in, form};

/// Tasks are kept for ten minutes, and are polled often. A client that comes back on another
/// connection finds them by their ids.
pub(super) fn options() -> TaskOptions {
    let config = TasksConfig::new()
        .ttl(Duration::from_secs(600))
        .poll_interval(Duration::from_millis(200))
        .max_per_owner(1000);
    // Its first round is over by then.
    let after = Duration::from_millis(50);
    TaskOptions {
        config,
        tool_after: vec![("test_tool_with_task".to_owned(), after)],
        ..TaskOptions::new()
    }
}

impl TaskCall<'_> {
    /// Runs the tool and returns its text.
    pub(super) async fn run(self, ctx: ToolContext<'_>) -> Answer {
        match self {
            Self::Greet { name } => Ok(format!("Hello, {name}!")),
            Self::SlowCompute { seconds, label } => {
                for part in 1..=PARTS {
                    Timer::after(Duration::from_secs_f64(seconds / f64::from(PARTS))).await;
                    ctx.progress(&Progress::of(part).total(PARTS)).await?;
                }
                let label = label.map(|label| format!(" for {label}")).unwrap_or_default();
                Ok(format!("Computed for {seconds} seconds{label}"))
            }
            Self::FailingJob => {
                Timer::after(Duration::from_secs(1)).await;
                Err("The job always fails".into())
            }
            Self::ProtocolErrorJob => {
                Timer::after(Duration::from_millis(100)).await;
                Err(RpcError::new(ErrorCode::InternalError, "The job ends with this error").into())
            }
            Self::ConfirmDelete { filename } => {
                let message = format!("Delete {filename}?");
                let answer = form::<Confirmation>(ctx, "confirm", &message).await?;
                Ok(format!("{filename}: {answer}"))
            }
            Self::MultiInput => {
                let questions = [
                    ("first", InputRequest::form::<Name>("What is the first name?")),
                    ("second", InputRequest::form::<Name>("What is the second name?")),
                ];
                let [first, second] = ctx.request_inputs(questions).await?;
                Ok(format!("{}; {}", filled_in::<Name>(&first)?, filled_in::<Name>(&second)?))
            }
            Self::TestToolWithTask => {
                let name = form::<Name>(ctx, "user_name", "What is your name?").await?;
                Timer::after(Duration::from_millis(300)).await;
                Ok(format!("Hello, {name}"))
            }
        }
    }
}

/// A part of the time after which progress is reported.
const PARTS: u32 = 10;
