//! The `config:` lines of a server's transcript.

use std::time::Duration;

use mcp_sansio::types::{CacheScope, Implementation, LoggingLevel};
use mcp_sansio::{
    Catalog, ClientFeatures, RawJson, Revision, Revisions, ServerConfig, ServerFeatures,
};

use super::catalog::catalog;
use super::parse::Transcript;

/// The configuration of a server, from `config:` lines.
///
/// | option | default |
/// | --- | --- |
/// | `revisions A B C D E`: the versions spoken | all |
/// | `capabilities tools tools.listChanged ...`, or `none`, or `all` | `tools` |
/// | `session D CAPABILITIES`: `initialize` and `initialized` have been exchanged; the client declared the capabilities | not yet |
/// | `size N S`: requests in flight and subscribed URIs; 1 1, 2 2, 4 2 or 8 8 | 8 8 |
/// | `rx BYTES`: the receive buffer | 4096 |
/// | `request_timeout MS`, `call_timeout MS`, `ping_interval MS`, `ping_timeout MS`, `progress_interval MS` | never, 60000, never, 20000, 0 |
/// | `instructions TEXT`, `experimental JSON`, `extensions JSON` | none |
/// | `methods a/b c/d`: the application's own | none |
/// | `log_level LEVEL`: before a legacy client asked for one | `debug` |
/// | `restarts`: the peer may begin again without an end of the stream | it may not |
/// | `terse`: the server's own errors have no words | they do |
/// | `nameless`: modern results do not name the server | they do |
/// | `discover MS public` | 0, public |
/// | `catalog tools resources templates prompts`: a [catalog](super::catalog) answers what it can | none |
/// | `page_size N`, `list_cache MS private`: of the catalog | all, 0 public |
pub(super) struct Setup<'t> {
    pub(super) config: ServerConfig<'t>,
    pub(super) catalog: Option<Catalog<'static>>,
    pub(super) session: Option<(Revision, &'t str)>,
    pub(super) size: (usize, usize),
    pub(super) rx: usize,
    methods: Vec<&'t str>,
}

impl<'t> Setup<'t> {
    pub(super) fn read(transcript: &'t Transcript) -> Result<Self, String> {
        let config = ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
        let mut setup = Self {
            config,
            catalog: None,
            session: None,
            size: (8, 8),
            rx: 4096,
            methods: Vec::new(),
        };
        transcript.each_option(|name, value| setup.option(name, value))?;
        Ok(setup)
    }

    /// Returns the messages of a client that open the session.
    pub(super) fn opening(&self) -> Option<String> {
        let (revision, capabilities) = self.session?;
        Some(format!(
            r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}
{{"jsonrpc":"2.0","method":"notifications/initialized"}}
"#
        ))
    }

    /// Returns the configuration. It borrows the list of methods from here.
    pub(super) fn config(&self) -> ServerConfig<'_> {
        self.config.methods(&self.methods)
    }

    fn option(&mut self, name: &str, value: &'t str) -> Result<(), String> {
        let words = &mut value.split(' ').filter(|word| !word.is_empty());
        let config = &mut self.config;
        match name {
            "revisions" => config.revisions = revisions(value)?,
            "capabilities" => {
                *config = config.with_capabilities(server_capabilities(value)?);
            }
            "session" => {
                let (code, capabilities) = value.split_once(' ').unwrap_or((value, "{}"));
                self.session = Some((revision(code)?, capabilities));
            }
            "size" => self.size = (number(words)?, number(words)?),
            "rx" => self.rx = number(words)?,
            "request_timeout" => *config = config.request_timeout(millis(words)?),
            "call_timeout" => config.call_timeout = millis(words)?,
            "ping_timeout" => config.ping_timeout = millis(words)?,
            "ping_interval" => *config = config.ping_interval(millis(words)?),
            "progress_interval" => config.progress_interval = millis(words)?,
            "instructions" => config.instructions = Some(value),
            "experimental" => config.experimental = Some(json(value)?),
            "extensions" => *config = config.extensions(json(value)?),
            "methods" => self.methods = words.collect(),
            "log_level" => config.log_level = level(value)?,
            "restarts" => *config = config.peer_can_reconnect(true),
            "terse" => *config = config.terse(),
            "nameless" => config.send_server_info = false,
            "discover" => {
                config.discover_ttl_ms = number(words)? as u64;
                config.discover_scope = scope(words.next())?;
            }
            "catalog" => self.catalog = Some(catalog(words)?),
            "page_size" => {
                let catalog = self.catalog.ok_or("there is no catalog yet")?;
                self.catalog = Some(catalog.page_size(number(words)?));
            }
            "list_cache" => {
                let catalog = self.catalog.ok_or("there is no catalog yet")?;
                let ttl = number(words)? as u64;
                self.catalog = Some(catalog.cache(ttl, scope(words.next())?));
            }
            _ => return Err("unknown option".into()),
        }
        Ok(())
    }
}

pub(super) fn revision(code: &str) -> Result<Revision, String> {
    let at =
        "EDCBA".find(code).filter(|_| code.len() == 1).ok_or("a revision is one of A B C D E")?;
    Revisions::ALL.iter().nth(at).ok_or_else(|| "unknown revision".into())
}

pub(super) fn code(revision: Revision) -> char {
    char::from(b'A' + revision as u8)
}

pub(super) fn level(name: &str) -> Result<LoggingLevel, String> {
    RawJson::parse(&format!("\"{name}\""))
        .ok()
        .and_then(|json| json.to().ok())
        .ok_or_else(|| format!("{name} is no level"))
}

pub(super) fn json(text: &str) -> Result<RawJson<'_>, String> {
    RawJson::parse(text).map_err(|error| format!("{error}: {text}"))
}

/// Reads the next word as a number.
pub(super) fn number<'w>(words: &mut impl Iterator<Item = &'w str>) -> Result<usize, String> {
    let number = words.next().and_then(|word| word.parse().ok());
    number.ok_or_else(|| "a number is missing".into())
}

/// Reads the next word as a number of milliseconds.
pub(super) fn millis<'w>(words: &mut impl Iterator<Item = &'w str>) -> Result<Duration, String> {
    Ok(Duration::from_millis(number(words)? as u64))
}

pub(super) fn revisions(codes: &str) -> Result<Revisions, String> {
    let mut set = codes.split(' ').map(|code| revision(code).map(Revisions::only));
    let first = set.next().ok_or("no revision")??;
    set.try_fold(first, |all, one| one.map(|one| all.with(one)))
}

fn server_capabilities(words: &str) -> Result<ServerFeatures, String> {
    use ServerFeatures as C;
    const NAMES: [(&str, ServerFeatures); 9] = [
        ("tools", C::TOOLS),
        ("tools.listChanged", C::TOOLS_LIST_CHANGED),
        ("resources", C::RESOURCES),
        ("resources.subscribe", C::RESOURCES_SUBSCRIBE),
        ("resources.listChanged", C::RESOURCES_LIST_CHANGED),
        ("prompts", C::PROMPTS),
        ("prompts.listChanged", C::PROMPTS_LIST_CHANGED),
        ("completions", C::COMPLETIONS),
        ("logging", C::LOGGING),
    ];
    union(&NAMES, words, C::NONE, C::with)
}

pub(super) fn client_capabilities(words: &str) -> Result<ClientFeatures, String> {
    use ClientFeatures as C;
    const NAMES: [(&str, ClientFeatures); 7] = [
        ("roots", C::ROOTS),
        ("roots.listChanged", C::ROOTS_LIST_CHANGED),
        ("sampling", C::SAMPLING),
        ("sampling.tools", C::SAMPLING_TOOLS),
        ("sampling.context", C::SAMPLING_CONTEXT),
        ("elicitation", C::ELICITATION_FORM),
        ("elicitation.url", C::ELICITATION_URL),
    ];
    union(&NAMES, words, C::NONE, C::with)
}

/// Returns those of a table that the words name; `none` and `all` are words, too.
fn union<C: Copy>(
    table: &[(&str, C)],
    words: &str,
    none: C,
    with: fn(C, C) -> C,
) -> Result<C, String> {
    words.split(' ').filter(|word| !word.is_empty()).try_fold(none, |all, word| match word {
        "none" => Ok(all),
        "all" => Ok(table.iter().fold(all, |all, (_, one)| with(all, *one))),
        _ => {
            let known = table.iter().find(|(name, _)| *name == word);
            let (_, one) = known.ok_or_else(|| format!("{word} is not a capability"))?;
            Ok(with(all, *one))
        }
    })
}

fn scope(word: Option<&str>) -> Result<CacheScope, String> {
    match word {
        Some("public") => Ok(CacheScope::Public),
        Some("private") => Ok(CacheScope::Private),
        _ => Err("public or private".into()),
    }
}
