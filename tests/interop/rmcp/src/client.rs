//! Drives a stdio server with the official Rust SDK's client, in every era and revision that it
//! supports.
//!
//!     rmcp-client COMMAND [ARGUMENT...]
//!
//! Each case opens one session and prints one line. The exit status is 1 if a case failed.
//! `INTEROP_TAP` names `wiretap.py`, `INTEROP_LOGS` the directory of its recordings, `INTEROP_CASE`
//! a part of the names of the cases to run, as for the other interop clients.

mod cases;
mod handler;
mod legacy;
mod modern;
mod tasks;

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use handler::{Answers, Seen};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::process::Command;

const CASE_TIMEOUT: Duration = Duration::from_secs(30);

/// A way to connect, and the cases that can run on it.
#[derive(Clone)]
pub struct Mode {
    name: &'static str,
    pub modern: bool,
    pub revision: ProtocolVersion,
    lifecycle: ClientLifecycleMode,
    /// The option with which the server is started in place of `--stdio`.
    option: &'static str,
}

pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Beginning of the reason why a case does not apply to this server.
pub const NOT_OFFERED: &str = "not offered";

/// One connected session.
pub struct Session {
    pub service: RunningService<RoleClient, Answers>,
    pub seen: Seen,
    pub mode: Mode,
}

/// Function of a case. Its future is boxed, because `async` functions have different types.
pub type Run =
    for<'s> fn(&'s Session) -> std::pin::Pin<Box<dyn Future<Output = Outcome> + Send + 's>>;

/// Pairs a name with an async function, whose future is boxed.
#[macro_export]
macro_rules! cases {
    ($($name:literal => $function:ident),+ $(,)?) => {
        &[$(($name, |session| Box::pin($function(session)))),+]
    };
}

impl Session {
    async fn open(mode: &Mode, command: &[String], log: Option<PathBuf>) -> Outcome<Self> {
        let word =
            |word: &String| if word == "--stdio" { mode.option.into() } else { word.clone() };
        let mut words: Vec<String> = command.iter().map(word).collect();
        if let (Some(log), Ok(tap)) = (log, env::var("INTEROP_TAP")) {
            words.splice(0..0, ["python3".into(), tap, log.display().to_string()]);
        }
        let mut process = Command::new(&words[0]);
        process.args(&words[1..]);
        let (process, _) = TokioChildProcess::builder(process).stderr(Stdio::inherit()).spawn()?;
        let answers = Answers::new(mode.revision.clone());
        let seen = answers.seen.clone();
        let service = answers.serve_with_lifecycle(process, mode.lifecycle.clone()).await?;
        Ok(Self { service, seen, mode: mode.clone() })
    }

    /// Calls a tool; the SDK responds to the server's requests meanwhile.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Value, ServiceError> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        self.service.call_tool(params).await.map(|result| json!(result))
    }
}

pub fn check(holds: bool, message: &str, seen: impl std::fmt::Debug) -> Outcome {
    if holds { Ok(()) } else { Err(format!("{message}; got {seen:?}").into()) }
}

pub fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

pub fn refused<T: std::fmt::Debug>(result: Result<T, ServiceError>, code: i32) -> Outcome {
    match result {
        Err(ServiceError::McpError(error)) => {
            check(error.code.0 == code, &format!("expected error {code}"), error)
        }
        other => Err(format!("expected error {code}; got {other:?}").into()),
    }
}

async fn run(mode: &Mode, command: &[String], log: Option<PathBuf>, case: Run) -> Outcome {
    let mut session = Session::open(mode, command, log).await?;
    let outcome = case(&session).await;
    let closed = session.service.close_with_timeout(Duration::from_secs(3)).await;
    outcome?;
    check(matches!(closed, Ok(Some(_))), "the session must close", closed)
}

#[tokio::main]
async fn main() -> ExitCode {
    let command: Vec<_> = env::args().skip(1).collect();
    if command.is_empty() {
        eprintln!("usage: rmcp-client COMMAND [ARGUMENT...]");
        return ExitCode::from(2);
    }
    let only = env::var("INTEROP_CASE").unwrap_or_default();
    let mut failures = 0;
    for mode in modes() {
        let suites = if mode.modern {
            [cases::ALL, modern::ALL, tasks::ALL]
        } else {
            [cases::ALL, legacy::ALL, &[]]
        };
        for (index, (name, case)) in
            suites.concat().into_iter().filter(|(name, _)| name.contains(&only)).enumerate()
        {
            let log = env::var_os("INTEROP_LOGS")
                .map(|logs| PathBuf::from(logs).join(format!("rmcp-{}/{index:03}", mode.name)));
            let late = Err(format!("no result after {CASE_TIMEOUT:?}").into());
            let outcome = tokio::time::timeout(CASE_TIMEOUT, run(&mode, &command, log, case))
                .await
                .unwrap_or(late);
            match outcome.map_err(|why| why.to_string()) {
                Ok(()) => println!("PASS rmcp {}: {name}", mode.name),
                Err(why) if why.starts_with(NOT_OFFERED) => {
                    println!("N/A  rmcp {}: {name} -- {why}", mode.name);
                }
                Err(why) => {
                    failures += 1;
                    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
                    println!("FAIL rmcp {}: {name} -- {why:.600} [wire {index:03}]", mode.name);
                }
            }
        }
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn modes() -> Vec<Mode> {
    let legacy = |name, revision| Mode {
        name,
        modern: false,
        revision,
        lifecycle: ClientLifecycleMode::Initialize,
        option: "--stdio",
    };
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let modern = |name, lifecycle| Mode {
        name,
        modern: true,
        revision: ProtocolVersion::V_2026_07_28,
        lifecycle,
        option: "--stdio",
    };
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: preferred_versions.clone(),
        legacy_version: None,
    };
    vec![
        legacy("2024-11-05", ProtocolVersion::V_2024_11_05),
        legacy("2025-03-26", ProtocolVersion::V_2025_03_26),
        legacy("2025-06-18", ProtocolVersion::V_2025_06_18),
        legacy("2025-11-25", ProtocolVersion::V_2025_11_25),
        modern("discover", ClientLifecycleMode::Discover { preferred_versions }),
        modern("auto", auto.clone()),
        Mode {
            lifecycle: auto,
            option: "--legacy",
            ..legacy("auto at a legacy server", ProtocolVersion::V_2025_11_25)
        },
    ]
}
