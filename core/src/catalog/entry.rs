//! Entries of a catalog.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::mem::ManuallyDrop;

use super::json_schema::{self, SchemaRow, is_known_dialect, read, refers_outside};
#[cfg(feature = "alloc")]
use super::owned::{OwnedParts, rendered};
#[cfg(all(feature = "http", feature = "alloc"))]
use super::{Catalog, Target, find, reference, target_of};
use super::{CatalogError, EntryList, SchemaError, assert_disjoint};
#[cfg(feature = "alloc")]
use crate::encode::OwnedJson;
use crate::encode::{Encode, Encoder};
#[cfg(all(feature = "http", feature = "alloc"))]
use crate::http::Operation;
#[cfg(all(feature = "http", feature = "alloc"))]
use crate::json::JsonStr;
#[cfg(feature = "alloc")]
use crate::json::hash_str;
use crate::json::{Indexed, RawJson};
use crate::message::Arguments;
#[cfg(all(feature = "http", feature = "alloc"))]
use crate::protocol::Method;
#[cfg(feature = "alloc")]
use crate::protocol::Revision;
use crate::protocol::error::require;
#[cfg(feature = "skills")]
use crate::skills::ServedSkill;
use crate::types::rendered::{Const, Renderer};
use crate::types::{List, Prompt, PromptArgument, Resource, ResourceTemplate, Text, Tool};
#[cfg(feature = "tasks")]
use crate::types::{TaskSupport, ToolExecution};
use crate::uri_template::{self, has_uri_characters, takes_scheme};

/// A tool, prompt, resource or resource template in a [`Catalog`](crate::Catalog).
///
/// [`entries!`](crate::entries) makes constant entries, and `Entry::from(&tool)` makes one of a
/// value of the running program. With the feature `alloc`, `Entry::from(tool)` copies the value, so
/// that the entry owns its text.
#[derive(Clone)]
pub struct Entry<'c>(Repr<'c>);

#[derive(Clone)]
enum Repr<'c> {
    Borrowed(Parts<'c>),
    #[cfg(feature = "alloc")]
    Owned(Box<OwnedParts>),
}

#[derive(Clone, Copy)]
struct Parts<'c> {
    key: Text<'c>,
    kind: EntryKind<'c>,
    form: Form<'c>,
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "it is empty"))]
    scopes: Scopes<'c>,
}

/// The kind of an entry, and what requests for it are checked against.
#[derive(Clone, Copy)]
pub(super) enum EntryKind<'c> {
    Tool {
        input: RawJson<'c>,
        output: Option<RawJson<'c>>,
        rows: Rows<'c>,
        #[cfg_attr(not(feature = "tasks"), allow(dead_code, reason = "it is empty"))]
        task: TaskRule,
    },
    Prompt(Option<List<'c, PromptArgument<'c>>>),
    Resource,
    Template,
}

/// The rows of the input schema and of the output schema. Firmware keeps none.
pub(super) type Rows<'c> = [&'c [SchemaRow]; SCHEMAS];
const SCHEMAS: usize = if cfg!(small) { 0 } else { 2 };
const NO_ROWS: Rows<'static> = pair(&[], &[]);

pub(super) const fn pair<'c>(input: &'c [SchemaRow], output: &'c [SchemaRow]) -> Rows<'c> {
    let (mut rows, mut at): (Rows<'_>, _) = ([input; SCHEMAS], 0);
    while at < rows.len() {
        rows[at] = [input, output][at];
        at += 1;
    }
    rows
}

/// Whether a tool can be executed as a task.
#[cfg(feature = "tasks")]
pub(super) type TaskRule = TaskSupport;
#[cfg(not(feature = "tasks"))]
pub(super) type TaskRule = ();

#[cfg(feature = "tasks")]
const fn task_rule(tool: &Tool<'_>) -> TaskRule {
    match &tool.execution {
        Some(ToolExecution { task_support: Some(support), .. }) => *support,
        _ => TaskSupport::Forbidden,
    }
}

#[cfg(not(feature = "tasks"))]
const fn task_rule(_: &Tool<'_>) -> TaskRule {}

impl EntryKind<'_> {
    pub(super) const TOOL: usize = 0;
    pub(super) const RESOURCE: usize = 1;
    pub(super) const TEMPLATE: usize = 2;
    pub(super) const PROMPT: usize = 3;

    pub(super) const fn assert_all(entries: &[Entry<'_>], kind: usize) {
        let mut at = 0;
        while at < entries.len() {
            assert!(
                entries[at].list() == kind,
                "the list of a catalog has an entry of another kind"
            );
            at += 1;
        }
    }
}

#[derive(Clone, Copy)]
enum Form<'c> {
    Rendered(&'c str),
    Value(&'c (dyn Encode + Sync)),
}

impl<'c> Entry<'c> {
    const fn borrowed(
        key: Text<'c>,
        kind: EntryKind<'c>,
        form: Form<'c>,
        scopes: Scopes<'c>,
    ) -> Self {
        Self(Repr::Borrowed(Parts { key, kind, form, scopes }))
    }

    const fn parts(&self) -> Parts<'c> {
        match &self.0 {
            Repr::Borrowed(parts) => *parts,
            #[cfg(feature = "alloc")]
            Repr::Owned(_) => panic!("the entry is not constant"),
        }
    }

    /// Returns by what requests name the entry: the name of a tool or prompt, the URI of a
    /// resource, the URI template.
    pub const fn key(&self) -> Text<'_> {
        match &self.0 {
            Repr::Borrowed(parts) => parts.key,
            #[cfg(feature = "alloc")]
            Repr::Owned(parts) => Text::new(&parts.key),
        }
    }

    /// Returns the scopes that its use takes, separated by spaces; empty if it takes none.
    #[cfg(feature = "http")]
    pub const fn scopes(&self) -> &str {
        match &self.0 {
            Repr::Borrowed(parts) => parts.scopes,
            #[cfg(feature = "alloc")]
            Repr::Owned(parts) => parts.scopes,
        }
    }

    /// Returns its kind, as the place of its list in [`LISTS`](super::LISTS).
    pub(super) const fn list(&self) -> usize {
        match self.kind() {
            EntryKind::Tool { .. } => EntryKind::TOOL,
            EntryKind::Resource => EntryKind::RESOURCE,
            EntryKind::Template => EntryKind::TEMPLATE,
            EntryKind::Prompt(_) => EntryKind::PROMPT,
        }
    }

    pub(super) const fn kind(&self) -> EntryKind<'_> {
        match &self.0 {
            Repr::Borrowed(parts) => parts.kind,
            #[cfg(feature = "alloc")]
            Repr::Owned(parts) => parts.kind(),
        }
    }

    /// Returns the input schema; of a prompt, a resource and a template it is `{}`.
    pub const fn input_schema(&self) -> RawJson<'_> {
        match self.kind() {
            EntryKind::Tool { input, .. } => input,
            _ => RawJson::EMPTY,
        }
    }

    /// Returns the output schema of a tool that has one.
    pub const fn output_schema(&self) -> Option<RawJson<'_>> {
        match self.kind() {
            EntryKind::Tool { output, .. } => output,
            _ => None,
        }
    }

    /// Returns whether the tool can be executed as a task ([`Tool::execution`]).
    #[cfg(feature = "tasks")]
    pub const fn task_support(&self) -> TaskSupport {
        match self.kind() {
            EntryKind::Tool { task, .. } => task,
            _ => TaskSupport::Forbidden,
        }
    }

    /// Checks the arguments against the first level of the tool's input schema: `type`, `enum`,
    /// `const`, ranges, lengths, `required` and `additionalProperties`. The tool has to check
    /// deeper levels, `$ref`, `pattern`, `format` and other keywords; derived tools have nothing
    /// left to check. A [`Catalog`](crate::Catalog) calls it, unless it is
    /// [`unchecked`](crate::Catalog::unchecked).
    ///
    /// # Errors
    /// The first argument that does not.
    pub fn check_arguments<'x>(&'x self, arguments: &Arguments<'x>) -> Result<(), SchemaError<'x>> {
        self.check_raw(arguments.indexed())
    }

    pub(super) fn check_raw<'x>(&'x self, arguments: Indexed<'x>) -> Result<(), SchemaError<'x>> {
        let EntryKind::Tool { input, rows, .. } = self.kind() else { return Ok(()) };
        json_schema::check(input, rows.first().copied().unwrap_or_default(), arguments)
    }

    /// Checks the structured content of a result against the tool's output schema, to the same
    /// depth as [`check_arguments`](Self::check_arguments); a tool without schema allows any
    /// content. Servers call it before responding, clients before trusting a result.
    ///
    /// # Errors
    /// The first invalid member; missing content; a schema with an unknown dialect or an external
    /// reference, which is never fetched.
    pub fn check_structured<'x>(
        &'x self,
        content: Option<RawJson<'x>>,
    ) -> Result<(), SchemaError<'x>> {
        let EntryKind::Tool { output: Some(schema), rows, .. } = self.kind() else {
            return Ok(());
        };
        let rows = rows.get(1).copied().unwrap_or_default();
        match content {
            Some(_) if rows.is_empty() && refers_outside(schema) => {
                Err(SchemaError::text("$ref", "is an external reference, which is not supported"))
            }
            Some(content) => json_schema::check(schema, rows, content.into()),
            None => Err(SchemaError::text("structuredContent", "is missing")),
        }
    }
}

#[cfg(feature = "alloc")]
impl Entry<'_> {
    /// Returns a hash of the text.
    pub(super) fn hash(&self) -> u64 {
        match &self.0 {
            Repr::Owned(parts) => parts.hash,
            Repr::Borrowed(Parts { form: Form::Rendered(text), .. }) => hash_str(text),
            Repr::Borrowed(_) => hash_json(self),
        }
    }
}

/// Returns a hash of what an entry is listed as; of one that cannot be written, 0.
#[cfg(feature = "alloc")]
pub(super) fn hash_json(entry: &impl Encode) -> u64 {
    OwnedJson::new(entry, Revision::LATEST).map_or(0, |text| hash_str(text.as_json().as_str()))
}

impl Encode for Entry<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match &self.0 {
            Repr::Borrowed(Parts { form: Form::Rendered(text), .. }) => to.rendered(text),
            Repr::Borrowed(Parts { form: Form::Value(value), .. }) => value.encode(to),
            #[cfg(feature = "alloc")]
            Repr::Owned(parts) => to.rendered(&parts.text),
        }
    }
}

impl core::fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Entry").field(&self.key()).finish()
    }
}

/// Functions for [`entries!`](crate::entries) and the derives, on constant entries.
pub mod constant {
    use super::*;

    /// Refuses two entries with the same key.
    pub const fn assert_distinct(mut entries: &[Entry<'_>]) {
        while let Some((entry, others)) = entries.split_first() {
            assert_disjoint(core::slice::from_ref(entry), others);
            entries = others;
        }
    }

    /// Returns the number of rows of the schemas of a tool.
    pub const fn count_rows(entry: &Entry<'_>) -> usize {
        read_into(entry, &mut [])
    }

    /// Reads the schemas of a tool.
    pub const fn read_rows<const N: usize>(entry: &Entry<'_>) -> [SchemaRow; N] {
        let mut rows = [SchemaRow::NONE; N];
        read_into(entry, &mut rows);
        rows
    }

    const fn read_into(entry: &Entry<'_>, rows: &mut [SchemaRow]) -> usize {
        let EntryKind::Tool { input, output, .. } = entry.kind() else { return 0 };
        let len = read(input, rows, 0);
        if let Some(output) = output { read(output, rows, len) } else { len }
    }

    /// Returns the entry with its rows.
    pub const fn with_rows<'c>(entry: &Entry<'c>, rows: &'c [SchemaRow]) -> Entry<'c> {
        let mut parts = entry.parts();
        if let EntryKind::Tool { input, rows: own, .. } = &mut parts.kind {
            let (of_input, of_output) = rows.split_at(read(*input, &mut [], 0));
            *own = pair(of_input, of_output);
        }
        Entry(Repr::Borrowed(parts))
    }

    /// Joins lists of entries; `N` is the sum of their lengths.
    pub const fn join<'c, const N: usize>(lists: &[&[Entry<'c>]]) -> [Entry<'c>; N] {
        let mut all = [const {
            Entry::borrowed(Text::new(""), EntryKind::Resource, Form::Rendered("{}"), NO_SCOPES)
        }; N];
        let (mut list, mut len) = (0, 0);
        while list < lists.len() {
            let mut at = 0;
            while at < lists[list].len() {
                // An assignment would drop the value before, which a constant may not.
                let entry = Entry(Repr::Borrowed(lists[list][at].parts()));
                let _ = ManuallyDrop::new(core::mem::replace(&mut all[len], entry));
                len += 1;
                at += 1;
            }
            list += 1;
        }
        all
    }
}

/// Entries for a [`Catalog`](crate::Catalog), of constants: as `&'static [Entry<'static>]`. The
/// JSON text of each is written while compiling. Two with the same name or URI do not compile.
///
/// ```
/// use mcp_sansio::types::{Prompt, PromptArgument};
/// use mcp_sansio::{Catalog, entries};
/// static CATALOG: Catalog = Catalog::new().prompts(entries![
///     Prompt::new("review").arguments(&[PromptArgument::new("code").required(true)]),
///     Prompt::new("greet"),
/// ]);
/// CATALOG.check().unwrap();
/// ```
#[macro_export]
macro_rules! entries {
    ($($value:expr),* $(,)?) => {{
        const ENTRIES: &[$crate::Entry<'static>] = &[$({
            const TEXT: [u8; $value.rendered_len()] = $value.render();
            const ENTRY: &$crate::Entry<'static> = &$value.into_entry(&TEXT);
            const LEN: usize = $crate::internal::entries::count_rows(ENTRY);
            const ROWS: [$crate::internal::SchemaRow; LEN] =
                $crate::internal::entries::read_rows(ENTRY);
            $crate::internal::entries::with_rows(ENTRY, &ROWS)
        }),*];
        const _: () = $crate::internal::entries::assert_distinct(ENTRIES);
        ENTRIES
    }};
}

macro_rules! kinds {
    ($($type:ident $key:ident: $rules:path, $kind:path;)*) => {$(
        /// Creates a constant entry, for [`entries!`].
        #[doc(hidden)]
        impl $type<'_> {
            pub const fn rendered_len(&self) -> usize {
                let mut to = Renderer::new(&mut []);
                Const(self).render(&mut to);
                $rules(self, &mut to);
                to.len()
            }

            pub const fn render<const N: usize>(&self) -> [u8; N] {
                let mut text = [0; N];
                let mut to = Renderer::new(&mut text);
                Const(self).render(&mut to);
                $rules(self, &mut to);
                text
            }
        }

        #[doc(hidden)]
        impl $type<'static> {
            pub const fn into_entry(&self, text: &'static [u8]) -> Entry<'static> {
                self.entry_with(text, NO_SCOPES)
            }

            const fn entry_with(
                &self,
                text: &'static [u8],
                scopes: Scopes<'static>,
            ) -> Entry<'static> {
                let Ok(text) = core::str::from_utf8(text) else { panic!("not rendered") };
                let mut to = Renderer::new(&mut []);
                Const(self).render(&mut to);
                let (text, rules) = text.split_at(to.len());
                let key = match self.$key.as_own() {
                    Some(key) => Text::new(within(text, key)),
                    None => self.$key,
                };
                Entry::borrowed(key, $kind(self, text, rules), Form::Rendered(text), scopes)
            }
        }
    )*};
}

kinds! {
    Tool name: no_rules, tool_kind;
    Prompt name: prompt_rules, prompt_kind;
    Resource uri: no_rules, resource_kind;
    ResourceTemplate uri_template: no_rules, template_kind;
}

macro_rules! from {
    ($($type:ident $key:ident: |$value:ident| $kind:expr;)*) => {$(
        impl<'c> From<&'c $type<'c>> for Entry<'c> {
            fn from($value: &'c $type<'c>) -> Self {
                Self::borrowed($value.$key, $kind, Form::Value($value), NO_SCOPES)
            }
        }

        impl<'c> From<&'c Scoped<$type<'c>>> for Entry<'c> {
            fn from(scoped: &'c Scoped<$type<'c>>) -> Self {
                let $value = &scoped.value;
                Self::borrowed($value.$key, $kind, Form::Value($value), scoped.kept())
            }
        }

        #[cfg(feature = "alloc")]
        impl From<$type<'_>> for Entry<'static> {
            fn from(value: $type<'_>) -> Self {
                Scoped { value, scopes: "" }.into()
            }
        }

        #[cfg(feature = "alloc")]
        impl From<Scoped<$type<'_>>> for Entry<'static> {
            fn from(scoped: Scoped<$type<'_>>) -> Self {
                let $value = &scoped.value;
                let text = rendered(|to| Const($value).render(to));
                let parts = OwnedParts::new($value.$key, $kind, text, scoped.kept());
                Self(Repr::Owned(Box::new(parts)))
            }
        }
    )*};
}

from! {
    Tool name: |tool| EntryKind::Tool {
        input: tool.input_schema,
        output: tool.output_schema,
        rows: NO_ROWS,
        task: task_rule(tool),
    };
    Prompt name: |prompt| EntryKind::Prompt(prompt.arguments);
    Resource uri: |resource| EntryKind::Resource;
    ResourceTemplate uri_template: |template| EntryKind::Template;
}

const fn tool_kind(tool: &Tool<'static>, text: &'static str, _rules: &str) -> EntryKind<'static> {
    let input = RawJson::scanned(within(text, tool.input_schema.as_str()));
    let output = match tool.output_schema {
        Some(output) => Some(RawJson::scanned(within(text, output.as_str()))),
        None => None,
    };
    EntryKind::Tool { input, output, rows: NO_ROWS, task: task_rule(tool) }
}

const fn prompt_kind(
    prompt: &Prompt<'static>,
    _text: &str,
    rules: &'static str,
) -> EntryKind<'static> {
    if rules.is_empty() {
        return EntryKind::Prompt(prompt.arguments);
    }
    EntryKind::Prompt(Some(List::scanned(RawJson::scanned(rules))))
}

const fn resource_kind(resource: &Resource<'_>, _text: &str, _rules: &str) -> EntryKind<'static> {
    assert_uri(resource.uri);
    EntryKind::Resource
}

const fn template_kind(it: &ResourceTemplate<'_>, _text: &str, _rules: &str) -> EntryKind<'static> {
    assert_uri(it.uri_template);
    EntryKind::Template
}

/// Refuses a name in the place of a URI or of a template.
const fn assert_uri(uri: Text<'_>) {
    let Some(uri) = uri.as_own() else { return };
    let (uri, mut at) = (uri.as_bytes(), 0);
    while at < uri.len() && uri[at] != b':' && uri[at] != b'{' {
        at += 1;
    }
    assert!(at < uri.len(), "a URI has a scheme: the URI comes first, then the name");
}

const fn no_rules<T>(_: &T, _: &mut Renderer<'_>) {}

/// Writes names and flags of the arguments, which are checked: behind the text, because in it they
/// may be interrupted by members that only some revisions define.
const fn prompt_rules(prompt: &Prompt<'_>, to: &mut Renderer<'_>) {
    let Some(arguments) = &prompt.arguments else { return };
    let Some(arguments) = arguments.as_slice() else { return };
    argument_rules(arguments, to);
}

pub(super) const fn argument_rules(arguments: &[PromptArgument<'_>], to: &mut Renderer<'_>) {
    to.begin_array();
    let mut at = 0;
    while at < arguments.len() {
        to.element(at);
        let rules = PromptArgument { title: None, description: None, ..arguments[at] };
        Const(&rules).render(to);
        at += 1;
    }
    to.end_array();
}

/// Returns the part of the text that reads like `part`, so that the program holds it once.
const fn within(text: &'static str, part: &'static str) -> &'static str {
    let mut at = 0;
    while at + part.len() <= text.len() {
        if reads(text.as_bytes(), at, part.as_bytes()) {
            return text.split_at(at).1.split_at(part.len()).0;
        }
        at += 1;
    }
    part
}

/// Whether `part` is at this place, with spaces for its line breaks.
const fn reads(text: &[u8], at: usize, part: &[u8]) -> bool {
    let mut i = 0;
    while i < part.len() {
        let byte = if matches!(part[i], b'\n' | b'\r') { b' ' } else { part[i] };
        if text[at + i] != byte {
            return false;
        }
        i += 1;
    }
    true
}

// Scopes that operations take (authorization over HTTP).

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
            pub const fn scopes(self, scopes: &'static str) -> Scoped<Self> {
                assert_scopes(scopes);
                Scoped { value: self, scopes }
            }
        }

        #[doc(hidden)]
        impl Scoped<$type<'_>> {
            pub const fn rendered_len(&self) -> usize {
                self.value.rendered_len()
            }

            pub const fn render<const N: usize>(&self) -> [u8; N] {
                self.value.render()
            }
        }

        #[doc(hidden)]
        impl Scoped<$type<'static>> {
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
    pub fn has_scopes(&self) -> bool {
        let mut has_scopes = false;
        self.each_scopes(&mut |_| has_scopes = true);
        has_scopes
    }

    /// Hands over the scopes of each entry that has some.
    pub fn each_scopes(&self, each: &mut dyn FnMut(&str)) {
        let lists = [self.resources, self.templates, self.prompts];
        let others = lists.into_iter().flatten();
        let all = self.all_tools().iter().chain(others).map(Entry::scopes);
        all.filter(|scopes| !scopes.is_empty()).for_each(each);
    }

    /// Hands over the scopes of each entry that an operation uses: of a call, a prompt, a read, a
    /// completion, and of each resource that is subscribed to. What is unknown has none.
    pub fn scopes_of(&self, operation: &Operation<'_>, each: &mut dyn FnMut(&str)) {
        let params = operation.params();
        let of_uri = |uri: Option<JsonStr<'_>>| match target_of(self, uri) {
            Ok(Target::Resource(entry) | Target::Template(entry)) => Some(entry),
            _ => None,
        };
        let entry = match operation.method() {
            Method::ToolsCall => params
                .name()
                .and_then(|name| self.all_tools().iter().find(|tool| tool.key() == name)),
            Method::PromptsGet => find(self.prompts, params.name()),
            Method::ResourcesRead | Method::ResourcesSubscribe => {
                of_uri(params.get("uri").and_then(RawJson::as_string))
            }
            Method::CompletionComplete => match reference(self, params.as_json()) {
                Ok(Target::CompletePrompt(entry) | Target::CompleteTemplate(entry)) => Some(entry),
                _ => None,
            },
            Method::SubscriptionsListen => {
                let uris =
                    params.get("notifications").and_then(|it| it.get("resourceSubscriptions"));
                let uris = uris.unwrap_or(RawJson::NULL).elements().map(RawJson::as_string);
                uris.filter_map(of_uri).for_each(|it| each(it.scopes()));
                None
            }
            _ => None,
        };
        if let Some(entry) = entry {
            each(entry.scopes());
        }
    }
}

// Checks of a catalog that need no server.

pub(super) fn check<'c>(list: EntryList<'c>) -> Result<(), CatalogError<'c>> {
    for (at, entry) in list.iter().enumerate() {
        let others = list.iter().take(at);
        check_entry(entry, others).map_err(|reason| {
            let unnamed = match entry.list() {
                EntryKind::TOOL => "(a tool)",
                EntryKind::RESOURCE => "(a resource)",
                EntryKind::TEMPLATE => "(a template)",
                _ => "(a prompt)",
            };
            CatalogError { entry: entry.key().as_plain().unwrap_or(unnamed), reason }
        })?;
    }
    Ok(())
}

#[cfg(feature = "skills")]
pub(super) fn check_skills<'c>(skills: &'c [ServedSkill<'c>]) -> Result<(), CatalogError<'c>> {
    for (at, skill) in skills.iter().enumerate() {
        let entry = skill.skill();
        let uri = entry.uri;
        let fault = |reason| CatalogError { entry: uri.as_plain().unwrap_or("(a skill)"), reason };
        entry.check().map_err(|error| fault(error.rule()))?;
        let is_used = skills.iter().take(at).any(|other| other.skill().uri == uri);
        require(!is_used, fault("two skills have this URI"))?;
        let has_contents = skill.has_all_contents();
        require(has_contents, fault("a skill must have the contents of its files"))?;
    }
    Ok(())
}

/// Checks an entry, and that none of the others has its key.
pub(super) fn check_entry<'c>(
    entry: &Entry<'_>,
    mut others: impl Iterator<Item = &'c Entry<'c>>,
) -> Result<(), &'static str> {
    let key = entry.key();
    let mut is_new = || !others.any(|other| other.key() == key);
    match entry.kind() {
        EntryKind::Tool { input, output, .. } => {
            let is_name = is_tool_name(key);
            require(is_name, "a tool name must be 1 to 128 characters of A-Z a-z 0-9 _ - .")?;
            require(is_new(), "two tools have this name")?;
            check_schema(input)?;
            let kind = input.get("type").and_then(RawJson::as_string);
            let is_object = kind.is_some_and(|kind| kind == "object");
            require(is_object, "the type of an input schema must be object")?;
            #[cfg(feature = "http")]
            crate::http::param_headers::check(input)?;
            output.map_or(Ok(()), check_schema)
        }
        EntryKind::Resource => {
            require(
                key.as_plain().is_some_and(is_uri),
                "a resource URI must have a scheme and only characters that RFC 3986 allows",
            )?;
            require(is_new(), "two resources have this URI")
        }
        EntryKind::Template => {
            let pattern = key.as_plain().ok_or("a template may not contain JSON escapes")?;
            require(
                uri_template::is_valid(pattern),
                "only {name} and {+name} are supported in a template, with literal text between two of them",
            )?;
            let mut literals = uri_template::literals(pattern);
            require(
                (pattern.starts_with('{') || begins_with_scheme(pattern))
                    && literals.all(|text| has_uri_characters(&mut text.chars())),
                "a template must have a scheme and only characters that RFC 3986 allows",
            )?;
            require(is_new(), "two templates are the same")
        }
        EntryKind::Prompt(_) => {
            require(!key.is_empty(), "a prompt must have a name")?;
            require(is_new(), "two prompts have this name")
        }
    }
}

fn is_tool_name(name: Text<'_>) -> bool {
    let Some(name) = name.as_plain() else { return false };
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn is_uri(uri: &str) -> bool {
    begins_with_scheme(uri) && has_uri_characters(&mut uri.chars())
}

/// Whether there is a scheme, a colon, and something behind it.
fn begins_with_scheme(uri: &str) -> bool {
    let chars = &mut uri.chars();
    takes_scheme(chars) && chars.next().is_some()
}

/// Checks that a schema is an object, of a known dialect, without duplicate keys and external
/// references.
fn check_schema(schema: RawJson<'_>) -> Result<(), &'static str> {
    require(schema.is_object(), "a schema must be a JSON object")?;
    let has_twice = schema.has_duplicate_key();
    require(!has_twice, "two members of an object in a schema have the same key")?;
    let is_known = is_known_dialect(schema);
    require(is_known, "the dialect of a schema must be JSON Schema 2020-12 or draft-07")?;
    require(!refers_outside(schema), "a schema may not contain external references")
}
