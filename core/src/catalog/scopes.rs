//! Scopes that operations take (authorization over HTTP).

#[cfg(all(feature = "http", feature = "alloc"))]
use super::Catalog;
use super::Entry;
use crate::types::{Prompt, Resource, ResourceTemplate, Tool};
#[cfg(all(feature = "http", feature = "alloc"))]
use crate::{
    http::site::Operation,
    json::{JsonStr, RawJson},
    lifecycle::Method,
    uri_template,
};

/// A tool, prompt, resource or template with the scopes that its use takes: `scopes` of
/// [`Tool`], [`Prompt`], [`Resource`] and [`ResourceTemplate`].
#[derive(Clone, Copy, Debug)]
pub struct Scoped<T> {
    pub(super) value: T,
    pub(super) scopes: &'static str,
}

/// The scopes of an entry. Without HTTP nothing of them is kept.
#[cfg(feature = "http")]
pub(super) type Scopes<'c> = &'c str;
#[cfg(not(feature = "http"))]
pub(super) type Scopes<'c> = core::marker::PhantomData<&'c str>;

#[cfg(feature = "http")]
pub(super) const NO_SCOPES: Scopes<'static> = "";
#[cfg(not(feature = "http"))]
pub(super) const NO_SCOPES: Scopes<'static> = core::marker::PhantomData;

impl<T> Scoped<T> {
    #[cfg(feature = "http")]
    pub(super) const fn kept(&self) -> Scopes<'static> {
        self.scopes
    }

    #[cfg(not(feature = "http"))]
    pub(super) const fn kept(&self) -> Scopes<'static> {
        let _ = self.scopes;
        NO_SCOPES
    }
}

macro_rules! scoped {
    ($($type:ident),*) => {$(
        impl $type<'_> {
            /// Adds the scopes that its use takes, separated by spaces: `files:read files:write`.
            /// They are not sent. Over HTTP a request without them is refused with 403; other
            /// transports know no scopes. Comes last.
            ///
            /// # Panics
            /// A scope has characters that RFC 6749, 3.3 does not allow.
            #[must_use]
            pub const fn scopes(self, scopes: &'static str) -> Scoped<Self> {
                assert_scopes(scopes);
                Scoped { value: self, scopes }
            }
        }

        #[doc(hidden)]
        impl Scoped<$type<'_>> {
            #[must_use]
            pub const fn rendered_len(&self) -> usize {
                self.value.rendered_len()
            }

            #[must_use]
            pub const fn render<const N: usize>(&self) -> [u8; N] {
                self.value.render()
            }
        }

        #[doc(hidden)]
        impl Scoped<$type<'static>> {
            #[must_use]
            pub const fn into_entry(&self, text: &'static [u8]) -> Entry<'static> {
                self.value.entry_with(text, self.kept())
            }
        }
    )*};
}

scoped!(Tool, Prompt, Resource, ResourceTemplate);

/// Refuses what is no list of scopes with single spaces between them.
const fn assert_scopes(scopes: &str) {
    let (bytes, mut at, mut before) = (scopes.as_bytes(), 0, b' ');
    while at < bytes.len() {
        let byte = bytes[at];
        let is_scope = matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~');
        assert!(is_scope || byte == b' ' && before != b' ', "this is no list of scopes");
        before = byte;
        at += 1;
    }
    assert!(before != b' ', "a list of scopes is not empty, and does not end with a space");
}

#[cfg(all(feature = "http", feature = "alloc"))]
impl<'c> Catalog<'c> {
    /// Returns whether any entry has scopes. Looks at all of them.
    #[must_use]
    pub fn has_scopes(&self) -> bool {
        let lists = [self.resources, self.templates, self.prompts];
        let others = lists.into_iter().flatten();
        self.all_tools().iter().chain(others).any(|entry| !entry.scopes().is_empty())
    }

    /// Hands over the scopes of each entry that an operation uses: of a call, a prompt, a read, a
    /// completion, and of each resource that is subscribed to. What is unknown has none.
    pub fn scopes_of(&self, operation: &Operation<'_>, each: &mut dyn FnMut(&str)) {
        let params = operation.params();
        let string = |key: &str| params.get(key).and_then(RawJson::as_string);
        let find = |entries: &'c [Entry<'c>], key: JsonStr<'_>| {
            entries.iter().find(|entry| entry.key() == key)
        };
        let of_resource = |uri: JsonStr<'_>| {
            find(self.resources, uri).or_else(|| {
                self.templates.iter().find(|template| {
                    let pattern = template.key().as_plain();
                    pattern.zip(Some(uri)).is_some_and(|(it, uri)| uri_template::matches(it, uri))
                })
            })
        };
        let entry = match operation.method() {
            Method::ToolsCall => params
                .name()
                .and_then(|name| self.all_tools().iter().find(|tool| tool.key() == name)),
            Method::PromptsGet => params.name().and_then(|name| find(self.prompts, name)),
            Method::ResourcesRead | Method::ResourcesSubscribe => {
                string("uri").and_then(of_resource)
            }
            Method::CompletionComplete => {
                let reference = params.get("ref").unwrap_or(RawJson::EMPTY);
                let string = |key: &str| reference.get(key).and_then(RawJson::as_string);
                let prompt = string("name").and_then(|name| find(self.prompts, name));
                prompt.or_else(|| string("uri").and_then(|uri| find(self.templates, uri)))
            }
            Method::SubscriptionsListen => {
                let uris =
                    params.get("notifications").and_then(|it| it.get("resourceSubscriptions"));
                let uris = uris.unwrap_or(RawJson::NULL).elements().filter_map(RawJson::as_string);
                uris.filter_map(of_resource).for_each(|entry| each(entry.scopes()));
                None
            }
            _ => None,
        };
        if let Some(entry) = entry {
            each(entry.scopes());
        }
    }
}
