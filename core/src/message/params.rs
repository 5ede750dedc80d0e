//! A message's `params`, with what dispatch needs taken out in the pass that scanned them.

use crate::json::{MemberSink, RawJson, ReadError, SyntaxError, read_members, same_text, skip_value};

/// The `params` of a request or notification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'f> {
    pub(crate) raw: Option<RawJson<'f>>,
    pub(crate) name: Option<RawJson<'f>>,
    pub(crate) arguments: Option<Arguments<'f>>,
    pub(crate) meta: RequestMeta<'f>,
    pub(crate) duplicate: bool,
}

impl<'f> Params<'f> {
    /// The whole object; `{}` when there was none.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.raw.unwrap_or(RawJson::EMPTY)
    }

    /// A member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        self.raw().get(key)
    }

    /// `name`: of a tool or a prompt. Found without a search.
    #[must_use]
    pub fn name(&self) -> Option<crate::JsonStr<'f>> {
        self.name.and_then(RawJson::as_string)
    }

    /// `arguments`; empty when there are none. Found without a search.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        self.arguments.unwrap_or_default()
    }

    /// `_meta`.
    #[must_use]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.meta.raw
    }

    /// The whole as a type of yours.
    ///
    /// # Errors
    /// What did not fit the type.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}

/// The `arguments` of a call: an object, of which the first few members need no search.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'f> {
    raw: RawJson<'f>,
    index: [(&'f str, RawJson<'f>); INDEXED],
    len: u8,
}

impl<'f> Arguments<'f> {
    /// The object, or what the peer sent in its place.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.raw
    }

    /// An argument.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        let indexed = self.index.get(..usize::from(self.len)).unwrap_or_default();
        match indexed.iter().find(|(k, _)| same_text(k, key)) {
            Some((_, value)) => Some(*value),
            // All members are indexed unless the index is full.
            None if indexed.len() < INDEXED => None,
            None => self.raw.get(key),
        }
    }

    /// The arguments as a type of yours, borrowing where it can.
    ///
    /// # Errors
    /// What did not fit the type. From 2025-11-25 on that is worth a result with `isError`, so that the model can correct itself.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw.to()
    }
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Self { raw: RawJson::EMPTY, index: [("", RawJson::NULL); INDEXED], len: 0 }
    }
}

/// The members of a request's `_meta` that the machine acts upon.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestMeta<'f> {
    pub(crate) raw: Option<RawJson<'f>>,
    pub(crate) progress_token: Option<RawJson<'f>>,
    pub(crate) version: Option<RawJson<'f>>,
    pub(crate) capabilities: Option<RawJson<'f>>,
    pub(crate) log_level: Option<RawJson<'f>>,
}

/// Reads `params`.
pub(crate) struct ParamsSink<'p, 'f> {
    pub(crate) text: &'f str,
    pub(crate) used: u32,
    pub(crate) params: &'p mut Params<'f>,
}

impl<'f> MemberSink<'f> for ParamsSink<'_, 'f> {
    fn member(&mut self, key: &'f str, value: usize) -> Result<usize, SyntaxError> {
        let is_object = self.text.as_bytes().get(value) == Some(&b'{');
        if is_object && same_text(key, "arguments") {
            self.params.duplicate |= self.params.arguments.is_some();
            let mut sink = ArgumentsSink { text: self.text, used: self.used + 1, arguments: Arguments::default() };
            let end = read_members(self.text, value, &mut sink)?;
            sink.arguments.raw = self.text.get(value..end).map_or(RawJson::EMPTY, RawJson::scanned);
            self.params.arguments = Some(sink.arguments);
            return Ok(end);
        }
        if is_object && same_text(key, "_meta") {
            self.params.duplicate |= self.params.meta.raw.is_some();
            let mut sink = MetaSink { text: self.text, used: self.used + 1, meta: &mut self.params.meta };
            let end = read_members(self.text, value, &mut sink)?;
            self.params.meta.raw = self.text.get(value..end).map(RawJson::scanned);
            return Ok(end);
        }
        let (end, text) = scan(self.text, value, self.used)?;
        if same_text(key, "name") {
            self.params.duplicate |= self.params.name.replace(text).is_some();
        } else if same_text(key, "arguments") {
            // Not an object: what it is will be refused by whoever wants one.
            self.params.duplicate |= self.params.arguments.is_some();
            self.params.arguments = Some(Arguments { raw: text, ..Arguments::default() });
        } else if same_text(key, "_meta") {
            self.params.duplicate |= self.params.meta.raw.replace(text).is_some();
        }
        Ok(end)
    }
}

struct ArgumentsSink<'f> {
    text: &'f str,
    used: u32,
    arguments: Arguments<'f>,
}

impl<'f> MemberSink<'f> for ArgumentsSink<'f> {
    fn member(&mut self, key: &'f str, value: usize) -> Result<usize, SyntaxError> {
        let (end, text) = scan(self.text, value, self.used)?;
        if let Some(entry) = self.arguments.index.get_mut(usize::from(self.arguments.len)) {
            *entry = (key, text);
            self.arguments.len += 1;
        }
        Ok(end)
    }
}

struct MetaSink<'p, 'f> {
    text: &'f str,
    used: u32,
    meta: &'p mut RequestMeta<'f>,
}

impl<'f> MemberSink<'f> for MetaSink<'_, 'f> {
    fn member(&mut self, key: &'f str, value: usize) -> Result<usize, SyntaxError> {
        let (end, text) = scan(self.text, value, self.used)?;
        let meta = &mut *self.meta;
        if same_text(key, "progressToken") {
            meta.progress_token = Some(text);
        } else if let Some(name) = key.strip_prefix("io.modelcontextprotocol/") {
            match name {
                "protocolVersion" => meta.version = Some(text),
                "clientCapabilities" => meta.capabilities = Some(text),
                "logLevel" => meta.log_level = Some(text),
                _ => {}
            }
        } else if key.contains('\\') {
            for (known, slot) in [
                ("io.modelcontextprotocol/protocolVersion", &mut meta.version),
                ("io.modelcontextprotocol/clientCapabilities", &mut meta.capabilities),
                ("io.modelcontextprotocol/logLevel", &mut meta.log_level),
            ] {
                if same_text(key, known) {
                    *slot = Some(text);
                }
            }
        }
        Ok(end)
    }
}

fn scan(text: &str, at: usize, used: u32) -> Result<(usize, RawJson<'_>), SyntaxError> {
    let end = skip_value(text.as_bytes(), at, used)?;
    Ok((end, RawJson::scanned(text.get(at..end).unwrap_or_default())))
}

/// How many arguments are found without a search: 64 bytes of stack on a 32-bit machine.
const INDEXED: usize = 4;
