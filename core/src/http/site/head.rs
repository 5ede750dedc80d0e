//! The head of a request, kept while its body is read and handled.

use alloc::boxed::Box;
use alloc::string::String;

use crate::http::{Fields, RequestHead};

pub(super) struct OwnedHead {
    method: String,
    target: String,
    fields: Box<dyn Fields + Send>,
}

impl OwnedHead {
    pub(super) fn new(method: &str, target: &str, fields: impl Fields + Send + 'static) -> Self {
        Self { method: method.into(), target: target.into(), fields: Box::new(fields) }
    }

    pub(super) fn as_head(&self) -> RequestHead<'_> {
        RequestHead::new(&self.method, &self.target, &*self.fields)
    }
}
