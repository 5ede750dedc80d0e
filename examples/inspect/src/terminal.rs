//! Interaction with the person while a call is open.

use std::io::{self, BufRead, IsTerminal as _, Write as _};

use mcp_sansio::types::{ElicitParams, InputRequest, LoggingMessageParams, ProgressParams};
use mcp_sansio::{Changed, ClientEvent, Json, OwnedJson, Revision};
use mcp_sansio_adapters::blocking::client::{CallId, Handler, InputResponse, OwnedInputRequest};
use serde_json::{Value, json};

use super::bar::Bar;
use super::form;
use super::table::plain;

/// A terminal: prompts and reports on standard error, input from standard input.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    bar: Bar,
}

impl Handler for Terminal {
    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        self.bar.clear();
        let (input, output) = (&mut io::stdin().lock(), &mut io::stderr().lock());
        let answer = match &question.as_input_request() {
            InputRequest::Elicit(ElicitParams::Form(form)) => form::fill(form, input, output),
            InputRequest::Elicit(ElicitParams::Url(page)) => {
                let asked = writeln!(
                    output,
                    "\nThe server asks: {}\n  {}",
                    plain(&page.message.to_string()),
                    plain(&page.url.to_string())
                );
                asked
                    .and_then(|()| yes("Open it?", input, output))
                    .map(|yes| json!({"action": if yes { "accept" } else { "decline" }}))
            }
            InputRequest::ListRoots => Ok(roots()),
            InputRequest::CreateMessage(params) => {
                let asked = value_of(params);
                sample(&asked["messages"], input, output)
            }
            _ => return question.refuse(),
        };
        match answer {
            Ok(Value::Null) | Err(_) => question.refuse(),
            Ok(answer) => question.respond(&Json(answer)),
        }
    }

    fn on_event(&mut self, _: Option<CallId>, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Progress { params, .. } => {
                let Ok(report) = params.to::<ProgressParams<'_>>() else { return };
                let number = |number: mcp_sansio::types::Number<'_>| {
                    serde_json::to_value(number).ok().and_then(|value| value.as_f64())
                };
                let message = report.message.map(|text| text.to_string());
                self.bar.draw(
                    number(report.progress).unwrap_or(0.0),
                    report.total.and_then(number),
                    message.as_deref(),
                );
            }
            ClientEvent::Log { params } => {
                self.bar.clear();
                let Ok(log) = params.to::<LoggingMessageParams<'_>>() else { return };
                let logger = log
                    .logger
                    .map(|logger| format!("{}: ", plain(&logger.to_string())))
                    .unwrap_or_default();
                let data = log
                    .data
                    .as_string()
                    .map_or_else(|| log.data.as_str().to_owned(), |text| text.to_string());
                eprintln!("[{}] {logger}{}", log.level.as_str(), plain(&data));
            }
            ClientEvent::Changed { what, .. } => {
                self.bar.clear();
                let line = match what {
                    Changed::Tools => "the list of tools has changed".to_owned(),
                    Changed::Prompts => "the list of prompts has changed".to_owned(),
                    Changed::Resources => "the list of resources has changed".to_owned(),
                    Changed::Resource { uri } => format!("changed: {}", plain(&uri.to_string())),
                    _ => return,
                };
                // The output may be closed, as by `head`.
                if writeln!(io::stdout(), "{line}").is_err() {
                    std::process::exit(0);
                }
            }
            ClientEvent::Violation(found) => {
                self.bar.clear();
                eprintln!("(protocol violation of the server: {})", plain(&found.to_string()));
            }
            _ => {}
        }
    }
}

/// Asks the person to respond in place of a model. An empty line declines.
fn sample(
    messages: &Value,
    input: &mut impl BufRead,
    output: &mut impl io::Write,
) -> io::Result<Value> {
    writeln!(output, "\nSampling request (write the model's response; an empty line declines):")?;
    for message in messages.as_array().into_iter().flatten() {
        let text = message["content"]["text"]
            .as_str()
            .map_or_else(|| message["content"].to_string(), str::to_owned);
        writeln!(output, "  {}: {}", plain(message["role"].as_str().unwrap_or("?")), plain(&text))?;
    }
    write!(output, "  assistant: ")?;
    output.flush()?;
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(match line.trim() {
        "" => Value::Null,
        text => {
            json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "a person", "stopReason": "endTurn"})
        }
    })
}

/// Returns the working directory.
fn roots() -> Value {
    let here = std::env::current_dir().unwrap_or_default();
    let uri = file_uri(&here.to_string_lossy(), cfg!(windows));
    json!({"roots": [{"uri": uri, "name": "working directory"}]})
}

/// Returns the URI of an absolute path (RFC 8089). On Windows, `C:\a` is `file:///C:/a`, and a
/// share `\\host\a` is `file://host/a`.
fn file_uri(path: &str, is_windows: bool) -> String {
    let path = if is_windows { path.replace('\\', "/") } else { path.to_owned() };
    let escaped: String = path
        .bytes()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' | b':' => char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    match escaped.strip_prefix("//") {
        Some(share) if is_windows => format!("file://{share}"),
        _ if is_windows => format!("file:///{escaped}"),
        _ => format!("file://{escaped}"),
    }
}

fn yes(question: &str, input: &mut impl BufRead, output: &mut impl io::Write) -> io::Result<bool> {
    write!(output, "{question} [y/N] ")?;
    output.flush()?;
    let mut line = String::new();
    input.read_line(&mut line)?;
    if !io::stdin().is_terminal() {
        writeln!(output)?;
    }
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Returns what is written of `value` for the newest revision.
fn value_of(value: &impl mcp_sansio::Encode) -> Value {
    OwnedJson::new(value, Revision::LATEST)
        .map_or(Value::Null, |json| json.to().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_a_uri_on_each_system() {
        assert_eq!(file_uri("/home/ada/b c", false), "file:///home/ada/b%20c");
        assert_eq!(file_uri(r"C:\Users\ada", true), "file:///C:/Users/ada");
        assert_eq!(file_uri(r"\\host\share\a", true), "file://host/share/a");
    }
}
