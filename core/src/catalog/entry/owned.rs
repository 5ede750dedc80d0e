//! Entries in memory of their own.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;

use super::{Kind, Scopes, TaskRule, argument_rules};
use crate::json::RawJson;
use crate::message::hash_str;
use crate::types::rendered::Renderer;
use crate::types::{List, Text};

/// The parts of an [`Entry`](super::Entry) that owns them.
#[derive(Clone)]
pub(super) struct OwnedParts {
    pub(super) key: Box<str>,
    kind: OwnedKind,
    /// As of a constant entry.
    pub(super) text: Box<str>,
    /// Of the text.
    pub(super) hash: u64,
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "it is empty"))]
    pub(super) scopes: Scopes<'static>,
}

#[derive(Clone)]
enum OwnedKind {
    Tool { input: Box<str>, output: Option<Box<str>>, task: TaskRule },
    Prompt(Option<Box<str>>),
    Resource,
    Template,
}

impl OwnedParts {
    pub(super) fn new(
        key: Text<'_>,
        kind: Kind<'_>,
        text: Box<str>,
        scopes: Scopes<'static>,
    ) -> Self {
        let copy = |schema: RawJson<'_>| Box::from(schema.as_str());
        Self {
            key: key.chars().collect::<String>().into(),
            kind: match kind {
                Kind::Tool { input, output, task } => {
                    OwnedKind::Tool { input: copy(input), output: output.map(copy), task }
                }
                Kind::Prompt(arguments) => {
                    OwnedKind::Prompt(arguments.map(|arguments| match arguments.as_slice() {
                        Some(arguments) => rendered(|to| argument_rules(arguments, to)),
                        None => copy(arguments.as_json().unwrap_or(RawJson::NULL)),
                    }))
                }
                Kind::Resource => OwnedKind::Resource,
                Kind::Template => OwnedKind::Template,
            },
            hash: hash_str(&text),
            text,
            scopes,
        }
    }

    pub(super) const fn kind(&self) -> Kind<'_> {
        match &self.kind {
            OwnedKind::Tool { input, output, task } => Kind::Tool {
                input: RawJson::scanned(input),
                output: match output {
                    Some(output) => Some(RawJson::scanned(output)),
                    None => None,
                },
                task: *task,
            },
            OwnedKind::Prompt(Some(arguments)) => {
                Kind::Prompt(Some(List::scanned(RawJson::scanned(arguments))))
            }
            OwnedKind::Prompt(None) => Kind::Prompt(None),
            OwnedKind::Resource => Kind::Resource,
            OwnedKind::Template => Kind::Template,
        }
    }
}

/// Returns what a function renders.
pub(super) fn rendered(render: impl Fn(&mut Renderer<'_>)) -> Box<str> {
    let mut to = Renderer::new(&mut []);
    render(&mut to);
    let mut text = vec![0; to.len()];
    render(&mut Renderer::new(&mut text));
    String::from_utf8(text).unwrap_or_default().into()
}
