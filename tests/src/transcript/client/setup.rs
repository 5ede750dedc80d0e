//! The `config:` lines of a client's transcript.

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Revision};

use super::super::parse::Transcript;
use super::super::setup::{json, level, millis, revision, revisions};

/// The configuration of a client, from `config:` lines.
///
/// | option | default |
/// | --- | --- |
/// | `revisions A B C D E`: the versions spoken | all |
/// | `capabilities roots roots.listChanged sampling ...`, or `none`, or `all` | `none` |
/// | `session D CAPABILITIES`: it is open, the server said that it can do this; the id 1 is used up | not yet |
/// | `size N`: requests in flight; 1, 2, 4 or 8 | 8 |
/// | `rx BYTES`: the receive buffer | 4096 |
/// | `probe_timeout MS`, `call_timeout MS`, `call_limit MS`, `request_timeout MS` | 10000, 60000, 600000, never |
/// | `ping_interval MS`, `ping_timeout MS`, `progress_interval MS` | never, 20000, 0 |
/// | `hasty`: progress does not prolong a request | it does |
/// | `max_rounds N` | 16 |
/// | `experimental JSON`, `extensions JSON`, `result_types a b` | none |
/// | `nameless`: modern requests do not name the client | they do |
/// | `log_level LEVEL`: what modern requests ask for | none |
pub(super) struct Setup<'t> {
    pub(super) config: ClientConfig<'t>,
    pub(super) session: Option<(Revision, &'t str)>,
    pub(super) size: usize,
    pub(super) rx: usize,
    result_types: Vec<&'t str>,
}

impl<'t> Setup<'t> {
    pub(super) fn read(transcript: &'t Transcript) -> Result<Self, String> {
        let config = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
        let mut setup = Self { config, session: None, size: 8, rx: 4096, result_types: Vec::new() };
        for (line, option) in &transcript.options {
            setup
                .option(option)
                .map_err(|fault| format!("{}:{line}: {fault}: {option}", transcript.name))?;
        }
        Ok(setup)
    }

    /// Returns the configuration. It borrows the list of result types from here.
    pub(super) fn config(&self) -> ClientConfig<'_> {
        self.config.result_types(&self.result_types)
    }

    fn option(&mut self, option: &'t str) -> Result<(), String> {
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        let mut words = value.split(' ').filter(|word| !word.is_empty());
        let mut number = || {
            words.next().and_then(|word| word.parse::<usize>().ok()).ok_or("a number is missing")
        };
        let config = &mut self.config;
        match name {
            "revisions" => config.revisions = revisions(value)?,
            "capabilities" => config.capabilities = capabilities(value)?,
            "session" => {
                let (code, capabilities) = value.split_once(' ').unwrap_or((value, "{}"));
                self.session = Some((revision(code)?, capabilities));
            }
            "size" => self.size = number()?,
            "rx" => self.rx = number()?,
            "probe_timeout" => config.probe_timeout = millis(number()?),
            "call_timeout" => config.call_timeout = millis(number()?),
            "call_limit" => config.call_limit = millis(number()?),
            "request_timeout" => config.request_timeout = Some(millis(number()?)),
            "ping_interval" => config.ping_interval = Some(millis(number()?)),
            "ping_timeout" => config.ping_timeout = millis(number()?),
            "progress_interval" => config.progress_interval = millis(number()?),
            "hasty" => config.progress_extends_timeout = false,
            "max_rounds" => config.max_rounds = number()? as u8,
            "experimental" => config.experimental = Some(json(value)?),
            "extensions" => *config = config.extensions(json(value)?),
            "result_types" => self.result_types = words.collect(),
            "nameless" => config.send_client_info = false,
            "log_level" => config.log_level = Some(level(value)?),
            _ => return Err("unknown option".into()),
        }
        Ok(())
    }
}

fn capabilities(words: &str) -> Result<ClientFeatures, String> {
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
    words.split(' ').try_fold(C::NONE, |all, word| match word {
        "none" => Ok(all),
        "all" => Ok(NAMES.iter().fold(all, |all, (_, one)| all.with(*one))),
        _ => {
            let known = NAMES.iter().find(|(name, _)| *name == word);
            known
                .map(|(_, one)| all.with(*one))
                .ok_or_else(|| format!("{word} is not a capability"))
        }
    })
}
