//! `params` that outlive their frame.

use alloc::boxed::Box;
use alloc::string::String;

use super::index::Index;
use super::member::Member;
use super::params::Params;
use super::span::Span;

/// A copy of [`Params`]: their text, and the positions in it.
#[derive(Clone, Debug)]
pub(crate) struct OwnedParams {
    /// A leading space, since position 0 means "missing"; then the params.
    text: Box<str>,
    whole: Span,
    arguments: Span,
    starts: [u32; Member::STARTS],
    index: Index,
}

impl OwnedParams {
    pub(crate) fn as_params(&self) -> Params<'_> {
        Params {
            text: &self.text,
            whole: self.whole,
            arguments: self.arguments,
            starts: self.starts,
            index: self.index,
        }
    }
}

impl From<&Params<'_>> for OwnedParams {
    fn from(params: &Params<'_>) -> Self {
        // Copies `params` only: in a batch they are a small part of the frame.
        let whole = params.whole.of(params.text).unwrap_or_default();
        let mut text = String::with_capacity(whole.len() + 1);
        text.push(' ');
        text.push_str(whole);
        let by = params.whole.start().saturating_sub(1);
        Self {
            text: text.into(),
            whole: params.whole.moved_down(by),
            arguments: params.arguments.moved_down(by),
            starts: params.starts.map(|start| start.saturating_sub(by as u32)),
            index: params.index.moved_down(by),
        }
    }
}
