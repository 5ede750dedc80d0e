//! The official SDK's client with its transport for child processes, on a current-thread runtime.

use std::error::Error;
use std::rc::Rc;

use clients::{Clock, Load, WARM_UP};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use tokio::process::Command;
use tokio::task::LocalSet;

/// As many tasks as calls are to be in flight, each with its share of the calls.
async fn call(service: &Rc<RunningService<RoleClient, ()>>, load: &Rc<Load>, from: u64, to: u64) {
    let tasks: Vec<_> = (0..load.window)
        .map(|first| {
            let (service, load) = (Rc::clone(service), Rc::clone(load));
            tokio::task::spawn_local(async move {
                for number in (from + first..to).step_by(load.window as usize) {
                    let text = load.text(number);
                    let mut arguments = serde_json::Map::new();
                    arguments.insert("text".into(), text.clone().into());
                    let params = CallToolRequestParams::new("echo").with_arguments(arguments);
                    let result = service.call_tool(params).await.expect("an answer");
                    let echoed = result.content.first().and_then(|content| content.as_text());
                    assert!(echoed.is_some_and(|echoed| echoed.text == text));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("all answers");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let load = Rc::new(Load::from_arguments());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let service = Rc::new(().serve(TokioChildProcess::new(Command::new(&load.server))?).await?);
        call(&service, &load, 0, WARM_UP).await;
        let clock = Clock::start();
        call(&service, &load, WARM_UP, WARM_UP + load.calls).await;
        clock.stop(&load);
        if let Ok(service) = Rc::try_unwrap(service) {
            service.cancel().await?;
        }
        Ok(())
    })
}
