//! A command line client: shows what a server offers, and the results of calls. `inspect --help`

mod arguments;
mod bar;
mod completions;
mod config;
mod connect;
mod form;
mod hosts;
mod login;
mod new;
mod offer;
mod options;
mod result;
mod run;
mod table;
mod terminal;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use mcp_sansio::types::{GetSkillResult, LoggingLevel, SubscriptionFilter, Text};
use mcp_sansio::{CallOptions, Json, OwnedJson, Printable, RawJson};
use mcp_sansio_adapters::blocking::client::{
    CallError, CallId, Client, ConnectError, Error, HttpError, TaskRef,
};
use serde_json::{Value, json};

use options::{Action, Options, Stop, Task};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match words.split_first() {
        Some((verb, rest)) if verb == "config" => config::run(rest),
        Some((verb, rest)) if verb == "new" => new::run(rest),
        Some((verb, rest)) if verb == "run" => run::run(rest),
        _ => match completions::print(&words) {
            Some(printed) => printed.map(|()| ExitCode::SUCCESS).map_err(Stop::Wrong),
            None => options::parse(words).map(|options| connected(&options)),
        },
    };
    match done {
        Ok(code) => code,
        Err(Stop::Help(text)) => {
            let _ = write!(io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(Stop::Wrong(why)) => {
            eprintln!("inspect: {}\n(inspect --help shows examples)", Printable::new(why));
            ExitCode::from(2)
        }
    }
}

fn connected(options: &Options) -> ExitCode {
    match inspect(options) {
        Ok(code) => code,
        Err(Failure::Usage(why)) => {
            eprintln!("inspect: {}", Printable::new(why));
            ExitCode::from(2)
        }
        Err(Failure::Login(why)) => {
            eprintln!("inspect: {}", Printable::new(why));
            ExitCode::FAILURE
        }
        Err(Failure::Output) => ExitCode::SUCCESS,
        Err(Failure::Server(error)) => {
            let lacks_login = lacks_login(&error);
            // The error may contain the last lines of the server's standard error.
            let error = error.to_string();
            eprintln!("inspect: {}", result::safe(&error));
            if let options::Server::Url { url, token: None } = &options.server
                && lacks_login
            {
                eprintln!("To log in: inspect login {}", Printable::new(url));
            }
            ExitCode::FAILURE
        }
    }
}

/// Whether the server wants another login than there is.
const fn lacks_login(error: &Error) -> bool {
    let error = match error {
        Error::Call { error: CallError::Http(error), .. }
        | Error::ConnectFailed { why: ConnectError::Http(error), .. } => error,
        _ => return false,
    };
    matches!(error, HttpError::Unauthorized { .. } | HttpError::NotAuthorized(_))
}

/// Code of the response if a handler has panicked, among others.
const INTERNAL_ERROR: i64 = -32603;

fn inspect(options: &Options) -> Result<ExitCode, Failure> {
    if let (Action::Login | Action::Logout, options::Server::Url { url, .. }) =
        (&options.action, &options.server)
    {
        let done = match options.action {
            Action::Login => login::log_in(url, options),
            _ => login::log_out(url),
        };
        return done.map(|()| ExitCode::SUCCESS);
    }
    let config = connect::config(options.timeout);
    let mut server = connect::connect(&config, options)?;
    let done = act(options, &mut server);
    let ended = server.close()?;
    if let Err(Failure::Server(Error::Call { error: CallError::Server(error), .. })) = &done
        && error.code == INTERNAL_ERROR
        && !options.trace
    {
        // A server that has panicked says where.
        ended.stderr.iter().for_each(|line| eprintln!("server: {}", Printable::new(line)));
    }
    done
}

fn act(options: &Options, server: &mut Client<'_>) -> Result<ExitCode, Failure> {
    let out = &mut io::stdout().lock();
    match &options.action {
        Action::Overview
        | Action::Tools
        | Action::Resources
        | Action::Prompts
        | Action::Skills { uri: None } => offer::show(options, server, out)?,
        Action::Skills { uri: Some(uri) } => load(server, uri, out)?,
        Action::Call { name, arguments, task } => {
            let listed = server.list_tools()?;
            let tool = entry(listed.raw(), "tool", name)?;
            let arguments =
                arguments::read(arguments, &tool["inputSchema"]).map_err(Failure::Usage)?;
            let call = match task {
                Task::AsTheServerLikes => {
                    let params = json!({"name": name, "arguments": arguments});
                    server.start("tools/call", &Json(params), CallOptions::new().progress(true))?
                }
                Task::Ask | Task::Detach => {
                    server.call_tool_as_task(name, &Json(arguments), None)?
                }
            };
            if *task == Task::Detach {
                if let Some(kept) = server.detach(call)? {
                    writeln!(out, "{}", kept.to_json())?;
                    return Ok(ExitCode::SUCCESS);
                }
                eprintln!("inspect: the server has responded without a task");
            }
            return result(options, server, call, out);
        }
        Action::Task { stored, cancels } => {
            let text = match std::fs::read_to_string(stored) {
                Ok(text) => text,
                Err(_) if stored.starts_with('{') => stored.clone(),
                Err(error) => return Err(Failure::Usage(format!("{stored}: {error}"))),
            };
            let kept = TaskRef::from_json(&text)
                .ok_or_else(|| Failure::Usage(format!("{stored} is no task of `call --detach`")))?;
            let call = server.resume(&kept)?;
            if *cancels {
                server.cancel(call, None)?;
                return Ok(ExitCode::SUCCESS);
            }
            return result(options, server, call, out);
        }
        Action::Read { uri } => show(options, &server.read_resource(uri)?, out, result::resource)?,
        Action::Prompt { name, arguments } => {
            let listed = server.list_prompts()?;
            let prompt = entry(listed.raw(), "prompt", name)?;
            let required = prompt["arguments"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|argument| argument["required"] == true);
            let required: Vec<_> = required.map(|argument| argument["name"].clone()).collect();
            let arguments = arguments::read(arguments, &json!({"required": required}))
                .map_err(Failure::Usage)?;
            show(options, &server.get_prompt(name, &Json(arguments))?, out, result::prompt)?;
        }
        Action::Watch { uris } => watch(server, uris)?,
        // They need no connection.
        Action::Login | Action::Logout => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the verified `SKILL.md` of a skill.
fn load(server: &mut Client<'_>, uri: &str, out: &mut impl io::Write) -> Result<(), Failure> {
    let entry = server.get_skill(uri)?;
    let entry = entry.as_json().to::<GetSkillResult<'_>>().map_err(Error::Read)?;
    let text = server.read_skill_file(&entry.skill, uri)?;
    let text = String::from_utf8_lossy(&text);
    writeln!(out, "{}", result::safe(text.trim_end()))?;
    Ok(())
}

/// Waits for the result of a tool, and prints it.
fn result(
    options: &Options,
    server: &mut Client<'_>,
    call: CallId,
    out: &mut impl io::Write,
) -> Result<ExitCode, Failure> {
    let result = server.wait(call)?;
    let failed = result.as_json().get("isError").and_then(RawJson::as_bool) == Some(true);
    show(options, &result, out, result::tool)?;
    if failed {
        eprintln!("inspect: the tool failed (isError)");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints changes until the connection ends.
fn watch(server: &mut Client<'_>, uris: &[String]) -> Result<(), Failure> {
    let uris: Vec<Text<'_>> = uris.iter().map(|uri| Text::new(uri)).collect();
    if server.era() == Some(mcp_sansio::Era::Modern) {
        let lists = SubscriptionFilter::new()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        let filter = if uris.is_empty() { lists } else { lists.resource_subscriptions(&uris) };
        let listen = server.listen(&filter)?;
        eprintln!("watching for changes; Ctrl-C to stop");
        server.wait(listen)?;
        return Ok(());
    }
    if !uris.is_empty() {
        server.listen(&SubscriptionFilter::new().resource_subscriptions(&uris))?;
    }
    // Logging is optional.
    let _ = server.set_log_level(LoggingLevel::Info);
    eprintln!("watching for changes; Ctrl-C to stop");
    loop {
        server.run_for(std::time::Duration::from_secs(3600))?;
    }
}

/// Returns the entry of a list with this name.
fn entry<'l>(
    mut listed: impl Iterator<Item = RawJson<'l>>,
    what: &str,
    name: &str,
) -> Result<Value, Failure> {
    let mut names = Vec::new();
    let found = listed.find(|entry| {
        let it = entry.get("name").and_then(RawJson::as_string);
        names.extend(it.map(|it| table::plain(&it.to_string())));
        it.is_some_and(|it| it == *name)
    });
    let found = found.and_then(|entry| serde_json::from_str(entry.as_str()).ok());
    found.ok_or_else(|| {
        Failure::Usage(format!("unknown {what} `{name}`: the server has {}", names.join(", ")))
    })
}

fn show(
    options: &Options,
    result: &OwnedJson,
    out: &mut impl io::Write,
    pretty: impl FnOnce(&Value, &mut dyn io::Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(result.as_json().as_str()).unwrap_or_default();
    if options.json {
        writeln!(out, "{}", result::safe(format_args!("{value:#}")))?
    } else {
        pretty(&value, out)?
    }
    Ok(())
}

/// The reason why `inspect` fails.
enum Failure {
    Usage(String),
    /// There is no login, or the store of logins has failed.
    Login(String),
    Server(Error),
    /// Standard output is closed, which is not an error.
    Output,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Self::Output
    }
}
