//! Slow tools. Other requests are served while they wait; cancellation drops them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_sansio::types::{LoggingLevel, TextResult};
use mcp_sansio::{LogMessage, OrToolError as _, Progress, RawJson};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};
use smol::Timer;

use super::tools;

/// Waits, and optionally reports progress every 100 ms.
pub(super) async fn slow(ctx: &Context) -> HandlerResult {
    let seconds = ctx
        .arguments()
        .get("seconds")
        .and_then(RawJson::as_f64)
        .filter(|seconds| (0.0..=3600.0).contains(seconds));
    let seconds = seconds.ok_or("The argument seconds must be a number from 0 to 3600")?;
    let (begun, lasts) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut end = End(tools::argument(ctx, "name").ok());
    let step = if ctx.request().wants_progress { Duration::from_millis(100) } else { lasts };
    while let Some(rest) = lasts.checked_sub(begun.elapsed()).filter(|rest| !rest.is_zero()) {
        ctx.progress(&Progress::of(begun.elapsed().as_secs_f64()).total(seconds)).await?;
        Timer::after(step.min(rest)).await;
    }
    end.0 = None;
    ctx.reply(&TextResult::new(&format!("That took {seconds} seconds")))
}

/// Reports whether a call with that name was cancelled, on any transport.
pub(super) fn slow_cancelled(ctx: &Context) -> HandlerResult {
    let name = tools::argument(ctx, "name").or_arguments()?;
    let cancelled = CANCELLED.lock().unwrap_or_else(PoisonError::into_inner).contains(&name);
    ctx.reply(&TextResult::new(if cancelled { "yes" } else { "no" }))
}

/// Records on drop that a call was cancelled: its name, if it had one.
struct End(Option<String>);

impl Drop for End {
    fn drop(&mut self) {
        let mut cancelled = CANCELLED.lock().unwrap_or_else(PoisonError::into_inner);
        cancelled.extend(self.0.take().filter(|name| name.len() <= 100));
        if cancelled.len() > 1000 {
            cancelled.clear();
        }
    }
}

static CANCELLED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Reports progress 0, 50 and 100 of 100.
pub(super) async fn progress(ctx: &Context) -> HandlerResult {
    for done in [0, 50, 100] {
        ctx.progress(&Progress::of(done).total(100)).await?;
        // After the last report too, since some clients ignore progress once they have the
        // response.
        Timer::after(STEP).await;
    }
    ctx.reply(&TextResult::new("Reported 0, 50 and 100 of 100"))
}

/// Sends three log messages.
pub(super) async fn logging(ctx: &Context) -> HandlerResult {
    for number in 1..=3 {
        let said = format!("Message {number} of 3");
        ctx.log(&LogMessage::new(LoggingLevel::Info, &said).logger("everything-server")).await?;
        Timer::after(STEP).await;
    }
    ctx.reply(&TextResult::new("Logged three messages"))
}

/// Responds after a pause.
pub(super) async fn pause(ctx: &Context) -> HandlerResult {
    // The client polls for the response where the transport supports it.
    ctx.release_connection();
    Timer::after(Duration::from_millis(100)).await;
    ctx.reply(&TextResult::new("Here I am again"))
}

const STEP: Duration = Duration::from_millis(50);
