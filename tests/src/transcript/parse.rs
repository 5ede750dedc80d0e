//! Parses the text of a transcript into steps.

use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Transcript {
    pub name: String,
    options: Vec<(usize, String)>,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Number of its line.
    pub(super) line: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Bytes from the peer; consecutive lines arrive together.
    Input(Vec<u8>),
    /// The next line sent.
    Output(String),
    /// The next event.
    Event(String),
    Clock(u64),
    Action {
        text: String,
        outcome: Option<String>,
    },
}

impl Kind {
    /// Whether it says how many requests and calls are open.
    pub(super) fn counts_what_is_open(&self) -> bool {
        matches!(self, Self::Action { text, .. } if text == "in flight")
    }
}

impl Transcript {
    /// Whether the machine under test is a client.
    pub(super) fn is_of_a_client(&self) -> bool {
        super::is_of_a_client(&self.name)
    }

    /// Hands the name and the value of each option to `take`.
    pub(super) fn each_option<'t>(
        &'t self,
        mut take: impl FnMut(&'t str, &'t str) -> Result<(), String>,
    ) -> Result<(), String> {
        for (line, option) in &self.options {
            let (name, value) = option.split_once(' ').unwrap_or((option, ""));
            take(name, value)
                .map_err(|fault| format!("{}:{line}: {fault}: {option}", self.name))?;
        }
        Ok(())
    }

    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        Self::read_with(name, text, BTreeMap::new())
    }

    /// Parses the transcript with this client information in each `${meta}` and in `initialize`.
    pub fn parse_for(name: &str, text: &str, client_info: &str) -> Result<Self, String> {
        let text = text.replace(CLIENT_INFO, client_info);
        Self::read_with(name, &text, BTreeMap::from([(CLIENT_INFO.into(), client_info.into())]))
    }

    fn read_with(
        name: &str,
        text: &str,
        mut names: BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let mut transcript = Self { name: name.into(), options: Vec::new(), steps: Vec::new() };
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let read =
                expand(text, &names).and_then(|text| transcript.read(line, &text, &mut names));
            read.map_err(|fault| format!("{name}:{line}: {fault}: {text}"))?;
        }
        Ok(transcript)
    }

    fn read(
        &mut self,
        line: usize,
        text: &str,
        names: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        let kind = if let Some(option) = text.strip_prefix("config: ") {
            if !self.steps.is_empty() {
                return Err("`config:` lines must be at the top".into());
            }
            if let Some((name, value)) =
                option.strip_prefix("let ").and_then(|rest| rest.split_once(" = "))
            {
                names.insert(name.into(), value.into());
            } else {
                self.options.push((line, option.into()));
            }
            return Ok(());
        } else if let Some(input) = text.strip_prefix("< ") {
            return self.input(line, format!("{input}\n").as_bytes());
        } else if let Some(input) = text.strip_prefix("<\\ ") {
            return self.input(line, &unescape(input)?);
        } else if let Some(output) = text.strip_prefix("> ") {
            Kind::Output(output.into())
        } else if let Some(event) = text.strip_prefix("! ") {
            Kind::Event(event.into())
        } else if let Some(time) = text.strip_prefix('@') {
            Kind::Clock(time.parse().map_err(|_| "no time in milliseconds")?)
        } else if let Some(action) = text.strip_prefix(": ") {
            let (text, outcome) = match action.rsplit_once(" => ") {
                Some((text, outcome)) => (text, Some(outcome.into())),
                None => (action, None),
            };
            Kind::Action { text: text.into(), outcome }
        } else {
            return Err("a line begins with one of `# `, `config: `, `< `, `<\\ `, `> `, `! `, `: ` and `@`".into());
        };
        self.steps.push(Step { line, kind });
        Ok(())
    }

    fn input(&mut self, line: usize, bytes: &[u8]) -> Result<(), String> {
        match self.steps.last_mut() {
            Some(Step { kind: Kind::Input(input), .. }) => input.extend_from_slice(bytes),
            _ => self.steps.push(Step { line, kind: Kind::Input(bytes.to_vec()) }),
        }
        Ok(())
    }
}

/// The default client information.
const CLIENT_INFO: &str = r#"{"name":"c","version":"1"}"#;

/// Resolves `${...}`.
fn expand(text: &str, names: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let end = closing(after).ok_or("${ without its }")?;
        out.push_str(&value(&after[..end], names)?);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value(call: &str, names: &BTreeMap<String, String>) -> Result<String, String> {
    let (name, argument) = call.split_once(' ').unwrap_or((call, ""));
    Ok(match name {
        "client" | "meta" => {
            let (capabilities, members) = match argument.strip_prefix('{') {
                Some(rest) => argument.split_at(closing(rest).ok_or("an open brace")? + 2),
                None => ("{}", argument),
            };
            let members = Some(members.trim()).filter(|members| !members.is_empty());
            let members = members.map(|members| format!(",{members}")).unwrap_or_default();
            let client_info =
                |info: &str| format!(r#","io.modelcontextprotocol/clientInfo":{info}"#);
            let rest = match (name, names.get(CLIENT_INFO)) {
                // The `_meta` of a request of our client.
                ("client", _) => client_info(CLIENT_INFO) + &members,
                (_, Some(info)) => members + &client_info(info),
                (_, None) => members,
            };
            format!(
                r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}{rest}}}"#
            )
        }
        "server" => {
            r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}"#.into()
        }
        "repeat" => {
            let (count, text) = argument.split_once(' ').ok_or("${repeat N TEXT}")?;
            text.repeat(count.parse().map_err(|_| "${repeat N TEXT}")?)
        }
        _ => names.get(call).ok_or_else(|| format!("${{{call}}} has no value"))?.clone(),
    })
}

/// Returns the position of the brace that closes one opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let (kind, after) = rest.split_first().ok_or("a backslash at the end")?;
        rest = after;
        out.push(match kind {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'\\' => b'\\',
            b'x' => {
                let (digits, after) = rest.split_at_checked(2).ok_or("\\xHH")?;
                rest = after;
                let digits = std::str::from_utf8(digits).map_err(|_| "\\xHH")?;
                u8::from_str_radix(digits, 16).map_err(|_| "\\xHH")?
            }
            _ => return Err("an invalid escape".into()),
        });
    }
    Ok(out)
}
