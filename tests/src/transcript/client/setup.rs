//! The `config:` lines of a client's transcript.

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Revision};

use super::super::parse::Transcript;
use super::super::setup::{client_capabilities, json, level, millis, number, revision, revisions};

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
        transcript.each_option(|name, value| setup.option(name, value))?;
        Ok(setup)
    }

    /// Returns the configuration. It borrows the list of result types from here.
    pub(super) fn config(&self) -> ClientConfig<'_> {
        self.config.result_types(&self.result_types)
    }

    fn option(&mut self, name: &str, value: &'t str) -> Result<(), String> {
        let words = &mut value.split(' ').filter(|word| !word.is_empty());
        let config = &mut self.config;
        match name {
            "revisions" => config.revisions = revisions(value)?,
            "capabilities" => config.capabilities = client_capabilities(value)?,
            "session" => {
                let (code, capabilities) = value.split_once(' ').unwrap_or((value, "{}"));
                self.session = Some((revision(code)?, capabilities));
            }
            "size" => self.size = number(words)?,
            "rx" => self.rx = number(words)?,
            "probe_timeout" => config.probe_timeout = millis(words)?,
            "call_timeout" => config.call_timeout = millis(words)?,
            "call_limit" => config.call_limit = millis(words)?,
            "request_timeout" => config.request_timeout = Some(millis(words)?),
            "ping_interval" => config.ping_interval = Some(millis(words)?),
            "ping_timeout" => config.ping_timeout = millis(words)?,
            "progress_interval" => config.progress_interval = millis(words)?,
            "hasty" => config.progress_extends_timeout = false,
            "max_rounds" => config.max_rounds = number(words)? as u8,
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
