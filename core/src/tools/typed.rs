//! The tools and the prompts of a server as one type each, their handlers, and calls by a client.

use core::cell::RefCell;
use core::fmt;
use core::future::Future;
use core::pin::pin;
use core::task::{self, Poll, Waker};

use super::context::{ToolContext, TurnLink};
use super::{ToolError, ToolResult};
use crate::buffers::rx::Spare;
use crate::buffers::tx::Tx;
use crate::catalog::{Catalog, Entry, Target, TypedPrompts, refuse_arguments};
use crate::client::{CallOptions, Client};
use crate::connection::{Outcome, Turn};
use crate::encode::{Encode, Encoder, With, object};
use crate::json::{Indexed, JsonStr, RawJson, ReadError};
use crate::protocol::Method;
use crate::protocol::error::{SendError, SendResult};
use crate::rpc::inflight::Call;
use crate::server::{Request, Server};
use crate::text::utf8;
use crate::time::Instant;
use crate::typed::rules::{self, Faults, Member, Rule, check_members};
use crate::typed::schema::Docs;
use crate::typed::{InputObject, Output, OutputObject};
use crate::types::{CallToolResult, Prompt, PromptArgument, Text};

/// Calls of tools: an enum with a variant for each. Derive it.
///
/// ```
/// use mcp_sansio::typed::{Input, Output, Tools};
/// use mcp_sansio::types::Text;
/// use mcp_sansio::{Catalog, RawJson};
///
/// #[derive(Tools)]
/// enum Call<'a> {
///     /// Runs a statement.
///     #[tool(read_only, returns = Rows<'static>)]
///     Query(Query<'a>),
///     /// Switches the lamp.
///     #[tool(title = "Lamp", destructive = false, idempotent)]
///     SetLamp {
///         /// Whether it shines
///         on: bool,
///         #[arg(range = 0..=100, default = 100)]
///         percent: u8,
///     },
///     /// Milliseconds since the start.
///     Uptime,
/// }
///
/// #[derive(Input)]
/// struct Query<'a> {
///     sql: Text<'a>,
/// }
///
/// #[derive(Output)]
/// struct Rows<'a> {
///     count: u32,
///     first: &'a str,
/// }
///
/// static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
/// CATALOG.check().unwrap();
///
/// let arguments = RawJson::from_static(r#"{"on":true}"#);
/// match Call::parse("set_lamp", arguments) {
///     Some(Ok(Call::Query(query))) => println!("{}", query.sql),
///     Some(Ok(Call::SetLamp { on, percent })) => assert_eq!((on, percent), (true, 100)),
///     Some(Ok(Call::Uptime)) => {}
///     Some(Err(faults)) => println!("{faults}"),
///     None => {}
/// }
/// ```
///
/// A variant has no fields, named fields, or a struct that derives
/// [`Input`](crate::typed::Input). Its documentation is the description of the tool, by which a
/// model knows what it does; without one it does not compile. Options, `#[tool(..)]`:
///
/// | option | meaning |
/// | --- | --- |
/// | `name = ".."` | name of the tool; otherwise that of the variant in `snake_case` |
/// | `title = ".."` | name for people |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | [`ToolAnnotations`](crate::types::ToolAnnotations); each may be `= false` |
/// | `returns = Rows<'static>` | the [`OutputObject`](crate::typed::OutputObject) that is the structured content of its results: `outputSchema` |
/// | `ui = ToolMeta::new()..` | its page and its callers: [`ToolMeta`](crate::types::ui::ToolMeta), a constant |
/// | `task`, `task = "required"` | the tool may, or must, be executed as a task: [`TaskSupport`](crate::types::TaskSupport) |
/// | `scopes("files:read", "files:write")` | over HTTP, the token must have these scopes: [`Tool::scopes`](crate::types::Tool::scopes) |
/// | `flatten` | the variant holds tools of another module: another enum that derives `Tools`. They are listed behind the others |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of tools",
    label = "an enum with `#[derive(Tools)]` is one"
)]
pub trait Tools<'a>: ReadAt<'a> {
    /// The tools, which [`Catalog::tools_of`](crate::Catalog::tools_of) lists.
    const TOOLS: &'static [Entry<'static>];

    /// Checks and reads a call. Returns `None` if there is no tool with this name.
    ///
    /// # Errors
    /// As [`InputObject::parse`](crate::typed::InputObject::parse). Respond with
    /// [`Server::respond_invalid_arguments`](crate::Server::respond_invalid_arguments).
    fn parse<'n>(
        name: impl Into<Text<'n>>,
        arguments: RawJson<'a>,
    ) -> Option<Result<Self, Faults<'a>>> {
        let place = find(Self::TOOLS, Self::HASHES, name.into());
        place.map(|place| Self::read(place, arguments.into()))
    }

    /// Checks and reads the call that a request is. Returns `None` if it is none, or if there is no
    /// tool with this name. [`Catalog::call`](crate::Catalog::call) responds in these cases, and
    /// to invalid arguments.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    fn from_request(request: &Request<'a>) -> Option<Result<Self, Faults<'a>>> {
        let name = request.name().filter(|_| request.method == Method::ToolsCall)?;
        let place = find(Self::TOOLS, Self::HASHES, name.into());
        place.map(|place| Self::read(place, request.arguments().indexed()))
    }
}

/// The rules, hashes and reader that the derives of [`Tools`] and [`Prompts`] write beside the
/// list, in its order.
pub trait ReadAt<'a>: Sized {
    /// The rules of the arguments.
    const RULES: &'static [&'static Rule];
    /// Hashes of the names, so that a name is compared with one of them only.
    const HASHES: &'static [u32];

    /// Reads the arguments for the entry at this place of the list.
    fn read(place: usize, arguments: Indexed<'a>) -> Result<Self, Faults<'a>>;
}

/// Writes a member, unless it is left out.
pub fn write_member<T: Output + ?Sized>(to: &mut Encoder<'_>, name: &str, value: &T) {
    if !value.is_omitted() {
        to.member(name, value);
    }
}

/// Reads the call of a tool that a catalog has found by its name, if that is one of the constants
/// of the type; otherwise [`Tools::from_request`] has to find it.
pub fn read_found<'a, T: Tools<'a>>(
    tool: &Entry<'_>,
    request: &Request<'a>,
) -> Option<Result<T, Faults<'a>>> {
    let place = T::TOOLS.iter().position(|own| core::ptr::eq(own, tool))?;
    Some(T::read(place, request.arguments().indexed()))
}

/// Result of [`Catalog::call`].
#[derive(Clone, Copy, Debug)]
pub enum Called<'c, T> {
    /// A call with valid arguments.
    Call(T),
    /// Anything else.
    Other(Target<'c>),
}

impl<'c> Catalog<'c> {
    /// Sets the tools of an enum, whose arguments are checked as its types are. There may be tools
    /// by hand, too:
    ///
    /// ```
    /// # use mcp_sansio::typed::Tools;
    /// # use mcp_sansio::types::Tool;
    /// # use mcp_sansio::{Catalog, RawJson, entries};
    /// # #[derive(Tools)]
    /// # enum Call {
    /// #     /// Switches the lamp.
    /// #     SetLamp { on: bool },
    /// # }
    /// static CATALOG: Catalog = Catalog::new()
    ///     .tools_of::<Call>()
    ///     .tools(entries![Tool::new("reset", RawJson::from_static(r#"{"type":"object"}"#))]);
    /// ```
    ///
    /// # Panics
    /// If a tool by hand has the name of one of these, or if there is an enum already (one may hold
    /// others: `flatten` of [`Tools`]); in a constant it then does not compile.
    pub const fn tools_of<T: Tools<'static>>(self) -> Self {
        self.typed_tools(T::TOOLS, |tool, arguments, refuse| {
            if let Some(rule) = rule_of::<T>(T::TOOLS, tool)
                && let Err(faults) = check_members(rule, arguments, &mut [], false)
            {
                refuse(&faults);
            }
        })
    }

    /// Reads a call of the enum; does what [`respond`](Self::respond) does for any other request,
    /// and responds to invalid arguments. The arguments are checked once, while they are read;
    /// those of a tool that is not of this enum are checked before it is returned.
    ///
    /// ```
    /// # use mcp_sansio::typed::{Called, Tools};
    /// # use mcp_sansio::types::TextResult;
    /// # use mcp_sansio::{Catalog, Request, SendError, Server, Tx};
    /// # #[derive(Tools)]
    /// # enum Call {
    /// #     /// Switches the lamp.
    /// #     SetLamp { on: bool },
    /// # }
    /// static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
    ///
    /// fn handle(server: &mut Server, request: &Request, tx: &mut Tx) -> Result<(), SendError> {
    ///     match CATALOG.call(server, request, tx)? {
    ///         Called::Call(Call::SetLamp { on }) => {
    ///             let result = TextResult::new(if on { "on" } else { "off" });
    ///             server.respond(request.handle, &result, tx)
    ///         }
    ///         // This catalog has nothing but tools: it has responded to everything else.
    ///         Called::Other(_) => Ok(()),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Server::respond`]: drain and call again.
    pub fn call<'f, T: Tools<'f>>(
        &self,
        server: &mut Server<'_>,
        request: &Request<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Called<'c, T>> {
        let target = self.checked_when_read().respond(server, request, tx)?;
        let Target::Tool(tool) = target else { return Ok(Called::Other(target)) };
        match T::from_request(request) {
            Some(Ok(call)) => Ok(Called::Call(call)),
            Some(Err(faults)) => {
                refuse_arguments(server, request, &faults, tx)?;
                Ok(Called::Other(Target::Responded))
            }
            // It is of another enum, which would have checked the arguments.
            None if self.is_call(tool) => self.respond(server, request, tx).map(Called::Other),
            None => Ok(Called::Other(target)),
        }
    }
}

pub(crate) fn find(entries: &[Entry<'_>], hashes: &[u32], name: Text<'_>) -> Option<usize> {
    if cfg!(small) {
        return entries.iter().position(|entry| entry.key() == name);
    }
    let hash = match name.as_plain() {
        Some(name) => hash(name),
        None => name.chars().fold(EMPTY, |hash, c| {
            utf8(c, &mut [0; 4]).iter().fold(hash, |hash, byte| next(hash, u32::from(*byte)))
        }),
    };
    let place = hashes.iter().position(|other| *other == hash)?;
    entries.get(place).is_some_and(|entry| entry.key() == name).then_some(place)
}

/// Returns the hash of a name (FNV-1a).
pub const fn hash(name: &str) -> u32 {
    let name = name.as_bytes();
    let (mut hash, mut at) = (EMPTY, 0);
    while at < name.len() {
        hash = next(hash, name[at] as u32);
        at += 1;
    }
    hash
}

const EMPTY: u32 = 0x811c_9dc5;

const fn next(hash: u32, character: u32) -> u32 {
    (hash ^ character).wrapping_mul(0x0100_0193)
}

/// Joins lists of entries, rules or hashes; `N` is the sum of their lengths.
pub const fn join<T: Copy, const N: usize>(first: T, parts: &[&[T]]) -> [T; N] {
    let mut all = [first; N];
    let (mut part, mut len) = (0, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            all[len] = parts[part][at];
            len += 1;
            at += 1;
        }
        part += 1;
    }
    all
}

/// Refuses a bound or a default that a rule cannot hold: a cast would make another of it.
pub const fn integer(value: i128, least: i64, greatest: i64) -> i64 {
    assert!(least as i128 <= value && value <= greatest as i128, "this integer is out of range");
    value as i64
}

/// Refuses names that a hash does not tell apart.
pub const fn assert_distinct(hashes: &[u32]) {
    let mut at = 0;
    while at < hashes.len() {
        let mut earlier = 0;
        while earlier < at {
            assert!(
                hashes[earlier] != hashes[at],
                "two variants have the same name, or names with the same hash: rename one of them"
            );
            earlier += 1;
        }
        at += 1;
    }
}

// The prompts of a server as one type.

/// Prompts with their arguments: an enum with a variant for each. Derive it.
///
/// ```
/// use mcp_sansio::typed::{Input, Prompts};
/// use mcp_sansio::types::Text;
/// use mcp_sansio::{Catalog, RawJson};
///
/// #[derive(Prompts)]
/// enum Ask<'a> {
///     /// Asks for a review of code.
///     #[prompt(title = "Review")]
///     Review {
///         /// The code
///         code: Text<'a>,
///         #[arg(default = Language::Rust)]
///         language: Language,
///     },
///     /// Asks for a summary of what has changed.
///     Summary,
/// }
///
/// #[derive(Input, Debug, PartialEq)]
/// enum Language {
///     Rust,
///     Python,
/// }
///
/// static CATALOG: Catalog = Catalog::new().prompts_of::<Ask>();
/// CATALOG.check().unwrap();
///
/// let arguments = RawJson::from_static(r#"{"code":"fn main() {}"}"#);
/// match Ask::parse("review", arguments) {
///     Some(Ok(Ask::Review { code, language })) => {
///         assert_eq!((code.as_plain(), language), (Some("fn main() {}"), Language::Rust));
///     }
///     Some(Ok(Ask::Summary)) => {}
///     Some(Err(faults)) => println!("{faults}"),
///     None => {}
/// }
/// ```
///
/// A variant has no fields, named fields, or a struct that derives
/// [`Input`](crate::typed::Input). The arguments of a prompt are strings, so a field is a text or
/// an enum without fields, or an `Option` of one. The documentation of a variant is the description
/// of the prompt. Options, `#[prompt(..)]`:
///
/// | option | meaning |
/// | --- | --- |
/// | `name = ".."` | name of the prompt; otherwise that of the variant in `snake_case` |
/// | `title = ".."` | name for people |
/// | `scopes("prompts:read")` | over HTTP, the token must have these scopes: [`Prompt::scopes`](crate::types::Prompt::scopes) |
/// | `flatten` | the variant holds prompts of another module: another enum that derives `Prompts`. They are listed behind the others |
///
/// # Completion
///
/// A field that is an enum is completed without code: the catalog answers `completion/complete`
/// with the names that begin with what was typed, at most 100. The server declares
/// [`ServerFeatures::COMPLETIONS`](crate::ServerFeatures::COMPLETIONS). For a field that is a text
/// the application gets [`Target::CompletePrompt`](crate::Target::CompletePrompt).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of prompts",
    label = "an enum with `#[derive(Prompts)]` is one"
)]
pub trait Prompts<'a>: ReadAt<'a> {
    /// The prompts, which [`Catalog::prompts_of`](crate::Catalog::prompts_of) lists.
    const PROMPTS: &'static [Entry<'static>];

    /// Checks and reads the arguments of a prompt. Returns `None` if there is no prompt with this
    /// name.
    ///
    /// # Errors
    /// As [`InputObject::parse`](crate::typed::InputObject::parse). Respond with
    /// [`Server::respond_invalid_params`](crate::Server::respond_invalid_params).
    fn parse<'n>(
        name: impl Into<Text<'n>>,
        arguments: RawJson<'a>,
    ) -> Option<Result<Self, Faults<'a>>> {
        let place = find(Self::PROMPTS, Self::HASHES, name.into());
        place.map(|place| Self::read(place, arguments.into()))
    }

    /// Checks and reads the `prompts/get` that a request is. Returns `None` if it is none, or if
    /// there is no prompt with this name. A catalog with
    /// [`prompts_of`](crate::Catalog::prompts_of) has responded in the latter case, and to invalid
    /// arguments.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    fn from_request(request: &Request<'a>) -> Option<Result<Self, Faults<'a>>> {
        let name = request.name().filter(|_| request.method == Method::PromptsGet)?;
        Self::parse(name, request.arguments().as_json())
    }
}

impl Catalog<'_> {
    /// Sets the prompts of an enum. Their arguments are checked as its types are: invalid ones are
    /// refused with -32602, whose message names all faults. Arguments that are enums are
    /// [completed](Prompts#completion).
    ///
    /// # Panics
    /// If there is an enum already (one may hold others: `flatten` of [`Prompts`]); in a constant
    /// it then does not compile.
    pub const fn prompts_of<P: Prompts<'static>>(self) -> Self {
        self.typed_prompts(
            P::PROMPTS,
            TypedPrompts {
                is_valid: |prompt, arguments| {
                    let is_valid =
                        |rule| check_members(rule, arguments.into(), &mut [], false).is_ok();
                    rule_of::<P>(P::PROMPTS, prompt).is_none_or(is_valid)
                },
                respond: |prompt, server, request, tx| match rule_of::<P>(P::PROMPTS, prompt) {
                    Some(rule) => respond(rule, server, request, tx),
                    None => Ok(false),
                },
            },
        )
    }
}

fn rule_of<T: ReadAt<'static>>(list: &[Entry<'_>], entry: &Entry<'_>) -> Option<&'static Rule> {
    find(list, T::HASHES, entry.key()).and_then(|place| T::RULES.get(place)).copied()
}

/// Responds to invalid arguments of a prompt, or with the completion of one that is an enum.
fn respond(
    rule: &'static Rule,
    server: &mut Server<'_>,
    request: &Request<'_>,
    tx: &mut Tx<'_>,
) -> SendResult<bool> {
    if request.method == Method::PromptsGet {
        let checked = check_members(rule, request.arguments().indexed(), &mut [], false);
        let Err(faults) = checked else { return Ok(false) };
        return server.refuse_params(request.handle, &faults, tx).map(|()| true);
    }
    let argument = request.params.get("argument").unwrap_or(RawJson::NULL);
    let member = |name| argument.get(name).and_then(RawJson::as_string);
    if let (Some(name), Some(typed), Rule::Object(object)) = (member("name"), member("value"), rule)
        && let Some(place) = object.find(name, 0)
        && let Some(Member { rule: Rule::Enum(names), .. }) = object.members.get(place)
    {
        let result = Completion { names, typed };
        server.respond_with::<dyn Encode>(request.handle, "complete", &result, tx)?;
        return Ok(true);
    }
    Ok(false)
}

/// The result of `completion/complete`: the names that begin with what was typed.
struct Completion<'t> {
    names: &'static [&'static str],
    typed: JsonStr<'t>,
}

/// Maximum number of values in a result (server/utilities/completion).
const MAX_VALUES: usize = 100;

impl Encode for Completion<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let matching = || self.names.iter().filter(|name| rules::begins_with(name, self.typed));
        let total = matching().count();
        let values = With(|to: &mut Encoder<'_>| to.array(matching().take(MAX_VALUES)));
        let completion = object!({
            "values": values,
            "total": total as u64,
            "hasMore": total > MAX_VALUES,
        });
        object!(to, { "completion": completion });
    }
}

/// Returns the number of members of an object.
pub const fn count_members(rule: &Rule) -> usize {
    rule.object().members.len()
}

/// Returns the arguments of a prompt as its list shows them; `N` is the number of members.
pub const fn prompt_arguments<const N: usize>(
    rule: &Rule,
    docs: &Docs,
) -> [PromptArgument<'static>; N] {
    let members = rule.object().members;
    let mut arguments = [PromptArgument::new(""); N];
    let mut at = 0;
    while at < N {
        let Member { name, rule, optional } = members[at];
        assert!(
            matches!(rule, Rule::String { .. } | Rule::Enum(_)),
            "an argument of a prompt is a string: a text, or an enum without fields"
        );
        let docs = docs.of_inner(at);
        assert!(docs.header.is_empty(), "`header` is for arguments of tools");
        let mut argument = PromptArgument::new(name);
        if !docs.title.is_empty() {
            argument = argument.title(docs.title);
        }
        if !docs.description.is_empty() {
            argument = argument.description(docs.description);
        }
        arguments[at] = if optional { argument } else { argument.required(true) };
        at += 1;
    }
    arguments
}

/// Returns a prompt with these arguments, if there are any.
pub const fn prompt(
    prompt: Prompt<'static>,
    arguments: &'static [PromptArgument<'static>],
) -> Prompt<'static> {
    if arguments.is_empty() { prompt } else { prompt.arguments(arguments) }
}

// Calls of tools by a client, with types.

/// A tool as its client sees it: the value is the arguments. Derive it.
///
/// ```
/// use mcp_sansio::RawJson;
/// use mcp_sansio::typed::{Input, Output, OutputError, ToolCall};
///
/// #[derive(Output, ToolCall)]
/// #[tool(name = "divide", returns = Quotient)]
/// struct Divide {
///     dividend: i64,
///     divisor: i64,
/// }
///
/// #[derive(Input, Debug)]
/// #[input(open)]
/// struct Quotient {
///     quotient: i64,
/// }
///
/// // What a server sends.
/// let result = RawJson::from_static(
///     r#"{"content":[{"type":"text","text":"3"}],"structuredContent":{"quotient":3}}"#,
/// );
/// assert_eq!(Divide::output(result)?.quotient, 3);
///
/// let failed = RawJson::from_static(
///     r#"{"content":[{"type":"text","text":"a number cannot be divided by 0"}],"isError":true}"#,
/// );
/// let error = Divide::output(failed).unwrap_err();
/// assert_eq!(error.to_string(), "the tool failed: a number cannot be divided by 0");
/// # Ok::<(), OutputError<'_>>(())
/// ```
///
/// `#[tool(name = "..")]` is the name of the tool; otherwise it is that of the struct in
/// `snake_case`. `returns` is the type of the structured content: one that derives
/// [`Input`](crate::typed::Input), with the lifetime `'static` if it has one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool as its client sees it",
    label = "a struct with `#[derive(Output, ToolCall)]` is one"
)]
pub trait ToolCall: OutputObject {
    /// The name of the tool.
    const NAME: &'static str;

    /// The structured content of its result.
    type Output<'a>: InputObject<'a>;

    /// Checks the result of a call and reads its structured content.
    ///
    /// # Errors
    /// If the tool failed, or the structured content is missing or invalid. Servers before
    /// 2025-06-18 send none.
    fn output(result: RawJson<'_>) -> Result<Self::Output<'_>, OutputError<'_>> {
        let result: CallToolResult<'_> = result.to().map_err(OutputError::Invalid)?;
        if result.is_error == Some(true) {
            let texts = result.content.iter().filter_map(|block| block.ok()?.as_text());
            return Err(OutputError::Failed(texts.into_iter().next().unwrap_or_default()));
        }
        let content = result.structured_content.ok_or(OutputError::Missing)?;
        InputObject::parse(content).map_err(OutputError::Faults)
    }
}

/// Reason why a call has no output.
#[derive(Clone)]
#[non_exhaustive]
pub enum OutputError<'a> {
    /// The tool failed (`isError`), with this text.
    Failed(Text<'a>),
    /// The result has no structured content.
    Missing,
    /// The structured content is not of its type.
    Faults(Faults<'a>),
    /// The result is no [`CallToolResult`].
    Invalid(ReadError),
}

impl fmt::Display for OutputError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) => write!(f, "the tool failed: {text}"),
            Self::Missing => f.write_str("the result of the tool has no structured content"),
            Self::Faults(faults) => write!(f, "the structured content is invalid: {faults}"),
            Self::Invalid(error) => write!(f, "the result of the tool is invalid: {error}"),
        }
    }
}

crate::text::error_type!(OutputError<'_>);

impl Client<'_> {
    /// Calls a tool with typed arguments: [`request`](Self::request) with `tools/call`. Read the
    /// result with [`ToolCall::output`].
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn call_tool<T: ToolCall>(
        &mut self,
        now: Instant,
        arguments: &T,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> SendResult<Call> {
        let params = object!({ "name": T::NAME, "arguments": arguments });
        self.request(now, "tools/call", &params, options, tx)
    }
}

// The functions behind the tools of a program.

/// The calls of a server's tools, without the lifetime of a message. [`Tools`] derives it: for
/// `enum Call<'a>` it is implemented by `Call<'static>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of tools",
    label = "an enum with `#[derive(Tools)]` is one"
)]
pub trait ToolSet: Tools<'static> {
    /// The enum.
    type Call<'a>: Tools<'a>;
}

/// A call of the tools of a handler.
pub type CallOf<'a, T> = <T as ToolSet>::Call<'a>;

/// Tools that return their result at once. Every adapter serves it, without a change.
///
/// ```
/// use mcp_sansio::typed::{Output, ToolHandler, Tools};
/// use mcp_sansio::types::Text;
/// use mcp_sansio::{Catalog, ToolContext, ToolOutput, ToolResult};
///
/// #[derive(Tools)]
/// enum Call<'a> {
///     /// Counts the characters of a text.
///     #[tool(read_only, returns = Count)]
///     Count { text: Text<'a> },
///     /// Switches the lamp.
///     SetLamp { on: bool },
/// }
///
/// #[derive(Output)]
/// struct Count {
///     characters: u32,
/// }
///
/// static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
///
/// struct Desk {
///     lamp: bool,
/// }
///
/// impl ToolHandler for Desk {
///     type Tools = Call<'static>;
///     type Output<'a> = Count;
///
///     fn call<'a>(&mut self, call: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a, Count> {
///         match call {
///             Call::Count { text } => {
///                 let characters = text.chars().count().try_into().map_err(|_| "too long")?;
///                 Ok(ToolOutput::Structured(Count { characters }))
///             }
///             Call::SetLamp { on } => {
///                 self.lamp = on;
///                 Ok(if on { "The lamp is on" } else { "The lamp is off" }.into())
///             }
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools that return at once",
    label = "does not implement `ToolHandler`",
    note = "the tools of an `AsyncToolHandler` are called with `call_async_tool`"
)]
pub trait ToolHandler {
    /// The enum that derives [`Tools`]; its lifetime, if it has one, is `'static` here.
    type Tools: ToolSet;

    /// The structured content of the results: a type that derives
    /// [`Output`](crate::typed::Output), an untagged enum of several, or
    /// [`NoOutput`](crate::NoOutput) if there is none.
    type Output<'a>: Encode;

    /// Calls a tool. The arguments are valid. Other messages wait meanwhile.
    /// [`ToolContext::at_once`] completes the futures of the context.
    fn call<'a>(
        &mut self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, Self::Output<'a>>;
}

impl<H: ToolHandler + ?Sized> ToolHandler for &mut H {
    type Tools = H::Tools;
    type Output<'a> = H::Output<'a>;

    fn call<'a>(
        &mut self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, Self::Output<'a>> {
        (**self).call(call, ctx)
    }
}

/// Tools that take time: as [`ToolHandler`], with an `async fn`.
///
/// ```
/// # use mcp_sansio::typed::{AsyncToolHandler, Tools};
/// # use mcp_sansio::{NoOutput, Progress, ToolContext, ToolResult};
/// # #[derive(Tools)]
/// # enum Call {
/// #     /// Erases the flash.
/// #     Erase { sectors: u32 },
/// # }
/// # struct Board;
/// # impl Board { async fn erase(&self, _: u32) {} }
/// impl AsyncToolHandler for Board {
///     type Tools = Call;
///     type Output<'a> = NoOutput;
///
///     async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
///         match call {
///             Call::Erase { sectors } => {
///                 for sector in 0..sectors {
///                     ctx.progress(&Progress::of(sector).total(sectors)).await?;
///                     self.erase(sector).await;
///                 }
///                 Ok("The flash is erased".into())
///             }
///         }
///     }
/// }
/// ```
///
/// A future that is dropped ends where it waits: its request was cancelled or has timed out, or its
/// connection has ended.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools that take time",
    label = "does not implement `AsyncToolHandler`",
    note = "the tools of a `ToolHandler` are called with `call_tool`"
)]
pub trait AsyncToolHandler {
    /// As [`ToolHandler::Tools`].
    type Tools: ToolSet;

    /// As [`ToolHandler::Output`].
    type Output<'a>: Encode
    where
        Self: 'a;

    /// Calls a tool. The arguments are valid. The call and the result may borrow from the request,
    /// and several calls may run at once.
    fn call<'a>(
        &'a self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> impl Future<Output = ToolResult<'a, Self::Output<'a>>>;
}

/// Serves a [`ToolHandler`] where an [`AsyncToolHandler`] is expected.
#[derive(Debug, Default)]
pub struct SyncTools<H>(RefCell<H>);

impl<H> SyncTools<H> {
    /// Takes the handler.
    pub const fn new(handler: H) -> Self {
        Self(RefCell::new(handler))
    }
}

impl<H: ToolHandler> AsyncToolHandler for SyncTools<H> {
    type Tools = H::Tools;
    type Output<'a>
        = H::Output<'a>
    where
        Self: 'a;

    async fn call<'a>(
        &'a self,
        call: CallOf<'a, Self::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, H::Output<'a>> {
        // A call does not wait, so no other one is running.
        let Ok(mut handler) = self.0.try_borrow_mut() else {
            return Err(ToolError::internal("The tools are in use"));
        };
        handler.call(call, ctx)
    }
}

/// Returns a result, or in debug builds with an allocator the error that it breaks the output
/// schema of its tool: [`Entry::check_result`](crate::Entry::check_result). For adapters.
#[inline]
pub fn checked<'a, T: ToolSet, O: Encode>(
    request: &Request<'_>,
    result: ToolResult<'a, O>,
) -> ToolResult<'a, O> {
    #[cfg(all(debug_assertions, feature = "alloc"))]
    if let Ok(output) = &result {
        let tool =
            T::TOOLS.iter().find(|tool| request.name().is_some_and(|name| tool.key() == name));
        tool.map_or(Ok(()), |tool| tool.check_result(output, request.revision))?;
    }
    #[cfg(not(all(debug_assertions, feature = "alloc")))]
    let _ = request;
    result
}

impl<'p, 'm, O: Outcome<Server<'m>>> Turn<'p, Server<'m>, O> {
    /// Calls a tool if the request is a valid call of one, and sends the result; for any other
    /// request it does what [`Catalog::respond`] does. `pump` writes as in [`send`](Self::send),
    /// and `now` reads the clock.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_tool<'c, H: ToolHandler, E: From<SendError>>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &mut H,
        mut pump: impl FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
        now: impl Fn() -> Instant,
    ) -> Result<Target<'c>, E> {
        let call = match self.send(&mut pump, |server, tx| catalog.call(server, request, tx))? {
            Called::Call(call) => call,
            Called::Other(target) => return Ok(target),
        };
        let link = TurnLink::new(self, pump, now);
        let result = handler.call(call, ToolContext::new(request, &link));
        let result = checked::<H::Tools, _>(request, result);
        link.respond(request.handle, &result).map(|()| Target::Responded)
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. Other messages wait meanwhile.
    /// The future is polled with the waker; whenever it is not ready, the function is called, which
    /// may return at any time.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_async_tool<'c, H: AsyncToolHandler, E: From<SendError>>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &H,
        mut pump: impl FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
        now: impl Fn() -> Instant,
        (waker, mut wait): (&Waker, impl FnMut()),
    ) -> Result<Target<'c>, E> {
        let call = match self.send(&mut pump, |server, tx| catalog.call(server, request, tx))? {
            Called::Call(call) => call,
            Called::Other(target) => return Ok(target),
        };
        let link = TurnLink::new(self, pump, now);
        let mut future = pin!(handler.call(call, ToolContext::new(request, &link)));
        let result = loop {
            match future.as_mut().poll(&mut task::Context::from_waker(waker)) {
                Poll::Ready(result) => break result,
                Poll::Pending => wait(),
            }
        };
        let result = checked::<H::Tools, _>(request, result);
        link.respond(request.handle, &result).map(|()| Target::Responded)
    }
}
