//! The tools of a server as one type.

use super::faults::Faults;
use super::input::check_members;
use super::rule::Rule;
use crate::catalog::{Catalog, Entry, Target};
use crate::error::SendError;
use crate::json::RawJson;
use crate::lifecycle::Method;
use crate::server::{Request, Server};
use crate::tx::Tx;
use crate::types::Text;

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
/// static CATALOG: Catalog = Catalog::new().calls::<Call>();
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
/// A variant has no fields, named fields, or a struct that derives [`Input`](super::Input). Its
/// documentation is the description of the tool, by which a model knows what it does; without one
/// it does not compile. Options, `#[tool(..)]`:
///
/// | option | meaning |
/// | --- | --- |
/// | `name = ".."` | name of the tool; otherwise that of the variant in `snake_case` |
/// | `title = ".."` | name for people |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | [`ToolAnnotations`](crate::types::ToolAnnotations); each may be `= false` |
/// | `returns = Rows<'static>` | the [`OutputObject`](super::OutputObject) that is the structured content of its results: `outputSchema` |
/// | `ui = ToolMeta::new()..` | its page and its callers: [`ToolMeta`](crate::types::ui::ToolMeta), a constant |
/// | `task`, `task = "required"` | the tool may, or must, be executed as a task: [`TaskSupport`](crate::types::TaskSupport) |
/// | `scopes("files:read", "files:write")` | over HTTP, the token must have these scopes: [`Tool::scopes`](crate::types::Tool::scopes) |
/// | `flatten` | the variant holds tools of another module: another enum that derives `Tools`. They are listed behind the others |
pub trait Tools<'a>: Sized {
    /// The tools, which [`Catalog::calls`](crate::Catalog::calls) lists.
    const TOOLS: &'static [Entry<'static>];

    /// The rules of their arguments, in the same order.
    #[doc(hidden)]
    const RULES: &'static [&'static Rule];

    /// Hashes of the names, so that a name is compared with one of them only.
    #[doc(hidden)]
    const HASHES: &'static [u32];

    /// Reads the call of the tool at this place of the list.
    #[doc(hidden)]
    fn read(place: usize, arguments: RawJson<'a>) -> Result<Self, Faults<'a>>;

    /// Checks and reads a call. Returns `None` if there is no tool with this name.
    ///
    /// # Errors
    /// As [`InputObject::parse`](super::InputObject::parse). Respond with
    /// [`Server::respond_invalid_arguments`](crate::Server::respond_invalid_arguments).
    fn parse<'n>(
        name: impl Into<Text<'n>>,
        arguments: RawJson<'a>,
    ) -> Option<Result<Self, Faults<'a>>> {
        find(Self::TOOLS, Self::HASHES, name.into()).map(|place| Self::read(place, arguments))
    }

    /// Checks and reads the call that a request is. Returns `None` if it is none, or if there is no
    /// tool with this name. [`Catalog::call`](crate::Catalog::call) responds in these cases, and
    /// to invalid arguments.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    fn from_request(request: &Request<'a>) -> Option<Result<Self, Faults<'a>>> {
        let name = request.name().filter(|_| request.method == Method::ToolsCall)?;
        Self::parse(name, request.arguments().raw())
    }
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
    ///     .calls::<Call>()
    ///     .tools(entries![Tool::new("reset", RawJson::from_static(r#"{"type":"object"}"#))]);
    /// ```
    ///
    /// # Panics
    /// If a tool by hand has the name of one of these, or if there is an enum already (one may hold
    /// others: `flatten` of [`Tools`]); in a constant it then does not compile.
    #[must_use]
    pub const fn calls<T: Tools<'static>>(self) -> Self {
        self.typed_tools(T::TOOLS, |tool, arguments, refuse| {
            let rule = find(T::TOOLS, T::HASHES, tool.key()).and_then(|place| T::RULES.get(place));
            if let Some(rule) = rule
                && let Err(faults) = check_members(rule, arguments, &mut [])
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
    /// static CATALOG: Catalog = Catalog::new().calls::<Call>();
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
    ) -> Result<Called<'c, T>, SendError> {
        let target = self.checked_when_read().respond(server, request, tx)?;
        let Target::Tool(tool) = target else { return Ok(Called::Other(target)) };
        match T::from_request(request) {
            Some(Ok(call)) => Ok(Called::Call(call)),
            Some(Err(faults)) => {
                server.refuse_arguments(request.handle, &faults, tx)?;
                Ok(Called::Other(Target::Responded))
            }
            // It is of another enum, which would have checked the arguments.
            None if self.is_call(tool) => self.respond(server, request, tx).map(Called::Other),
            None => Ok(Called::Other(target)),
        }
    }
}

#[cfg_attr(small, inline(never))]
pub(super) fn find(entries: &[Entry<'_>], hashes: &[u32], name: Text<'_>) -> Option<usize> {
    if cfg!(small) {
        return entries.iter().position(|entry| entry.key() == name);
    }
    let hash = match name.as_plain() {
        Some(name) => hash(name),
        None => name.chars().fold(EMPTY, |hash, c| next(hash, u32::from(c))),
    };
    let place = hashes.iter().position(|other| *other == hash)?;
    entries.get(place).is_some_and(|entry| entry.key() == name).then_some(place)
}

/// Returns the hash of a name (FNV-1a).
#[must_use]
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
#[must_use]
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
