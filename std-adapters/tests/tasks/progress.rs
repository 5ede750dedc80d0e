//! Progress of tasks, as the client of this library gets it: numbers in both dialects.

use std::time::Duration;

use mcp_sansio::tasks::TasksConfig;
use mcp_sansio::types::{Implementation, ProgressParams, TextResult};
use mcp_sansio::{ClientConfig, ClientFeatures, Era, Progress, RawJson};
use mcp_sansio_adapters::asynchronous::client::Connector;
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult, TaskOptions};
use tokio::time::sleep;

use super::serving;
use super::virtual_time::block_on;

static CLIENT: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("panel", "1"), ClientFeatures::TASKS);

/// Reports three steps, all with the same message.
async fn copy(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    for done in 1..=3 {
        ctx.tool(&request).progress(&Progress::of(done).total(3).message("copies")).await?;
        sleep(Duration::from_secs(1)).await;
    }
    ctx.reply(&TextResult::new("done"))
}

#[test]
fn a_task_reports_numbers_to_who_waits_and_to_who_resumes() {
    let config = TasksConfig::new().poll_interval(Duration::from_millis(100));
    let options = TaskOptions { config, ..TaskOptions::new() };
    let app = serving(copy).tasks(options);
    for (era, resumes) in Era::ALL.into_iter().flat_map(|era| [(era, false), (era, true)]) {
        let connector = Connector::new(&CLIENT).era(era);
        let told = block_on(app.memory(connector, async |client| {
            let mut task = client.call_tool_as_task("steps", &RawJson::EMPTY, None).await.unwrap();
            if resumes {
                sleep(Duration::from_millis(1500)).await;
                let kept = task.detach().unwrap();
                task = client.resume(&kept).await.unwrap();
            }
            let mut told = Vec::new();
            let result = task.wait_with_progress(|step| told.push(numbers(step))).await;
            assert!(result.unwrap().as_json().as_str().contains("done"));
            told
        }));
        let mut steps = told.clone();
        steps.dedup();
        // Before it was resumed, two steps were done.
        let first = if resumes { 2 } else { 1 };
        let expected: Vec<_> = (first..=3).map(|done| (done, Some(3))).collect();
        assert_eq!(steps, expected, "{era:?} {told:?}");
    }
}

fn numbers(step: &ProgressParams<'_>) -> (i64, Option<i64>) {
    let message = step.message.map(|text| text.chars().collect::<String>());
    assert_eq!(message.as_deref(), Some("copies"));
    (step.progress.as_i64().unwrap(), step.total.and_then(|total| total.as_i64()))
}
