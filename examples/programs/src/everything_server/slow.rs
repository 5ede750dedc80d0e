//! Slow tools. Other requests are served while they wait; cancellation drops them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_sansio::types::LoggingLevel;
use mcp_sansio::{LogMessage, Progress, ToolContext};
use smol::Timer;

use super::Answer;
use super::catalog::{Slow, SlowCall};

impl SlowCall {
    /// Runs the tool and returns its text.
    pub(super) async fn run(self, ctx: ToolContext<'_>) -> Answer {
        let text = match self {
            Self::Slow(call) => return slow(ctx, call).await,
            // On any transport.
            Self::SlowCancelled { name } => {
                let cancelled = CANCELLED.lock().unwrap_or_else(PoisonError::into_inner);
                if cancelled.contains(&name) { "yes" } else { "no" }
            }
            Self::TestToolWithProgress => {
                for done in [0, 50, 100] {
                    ctx.progress(&Progress::of(done).total(100)).await?;
                    // After the last report too, since some clients ignore progress once they have
                    // the response.
                    Timer::after(STEP).await;
                }
                "Reported 0, 50 and 100 of 100"
            }
            Self::TestToolWithLogging => {
                for number in 1..=3 {
                    let said = format!("Message {number} of 3");
                    let message = LogMessage::new(LoggingLevel::Info, &said);
                    ctx.log(&message.logger("everything-server")).await?;
                    Timer::after(STEP).await;
                }
                "Logged three messages"
            }
            Self::TestReconnection => {
                // The client polls for the response where the transport supports it.
                ctx.release_connection();
                Timer::after(Duration::from_millis(100)).await;
                "Here I am again"
            }
        };
        Ok(text.to_owned())
    }
}

/// Waits, and reports progress if the client asked for it.
async fn slow(ctx: ToolContext<'_>, Slow { seconds, name }: Slow) -> Answer {
    let (begun, lasts) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut end = End(name);
    let step = if ctx.request().wants_progress { Duration::from_millis(100) } else { lasts };
    while let Some(rest) = lasts.checked_sub(begun.elapsed()).filter(|rest| !rest.is_zero()) {
        ctx.progress(&Progress::of(begun.elapsed().as_secs_f64()).total(seconds)).await?;
        Timer::after(step.min(rest)).await;
    }
    end.0 = None;
    Ok(format!("That took {seconds} seconds"))
}

/// Records on drop that a call was cancelled: its name, if it had one.
struct End(Option<String>);

impl Drop for End {
    fn drop(&mut self) {
        let mut cancelled = CANCELLED.lock().unwrap_or_else(PoisonError::into_inner);
        cancelled.extend(self.0.take());
        if cancelled.len() > 1000 {
            cancelled.clear();
        }
    }
}

static CANCELLED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
const STEP: Duration = Duration::from_millis(50);
