//! The tools of a server as one type.

use super::faults::Faults;
use crate::json::RawJson;
use crate::lifecycle::Method;
use crate::server::Request;
use crate::types::{Text, Tool};

/// Calls of tools: an enum with a variant for each. Derive it.
///
/// ```
/// use mcp_sansio::typed::{Input, Tools};
/// use mcp_sansio::types::Text;
/// use mcp_sansio::{Catalog, RawJson};
///
/// #[derive(Tools)]
/// enum Call<'a> {
///     /// Runs a statement.
///     #[tool(read_only)]
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
/// static CATALOG: Catalog = Catalog::new().tools(Call::TOOLS);
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
/// | `flatten` | the variant holds tools of another module: another enum that derives `Tools`. They are listed behind the others |
pub trait Tools<'a>: Sized {
    /// The tools, for [`Catalog::tools`](crate::Catalog::tools).
    const TOOLS: &'static [Tool<'static>];

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
    /// tool with this name, to which [`Catalog::respond`](crate::Catalog::respond) responds.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    fn from_request(request: &Request<'a>) -> Option<Result<Self, Faults<'a>>> {
        let name = request.name().filter(|_| request.method == Method::ToolsCall)?;
        Self::parse(name, request.arguments().raw())
    }
}

#[cfg_attr(small, inline(never))]
fn find(tools: &[Tool<'_>], hashes: &[u32], name: Text<'_>) -> Option<usize> {
    let hash = match name.as_plain() {
        Some(name) => hash(name),
        None => name.chars().fold(EMPTY, |hash, c| next(hash, u32::from(c))),
    };
    let place = hashes.iter().position(|other| *other == hash)?;
    tools.get(place).is_some_and(|tool| tool.name == name).then_some(place)
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

/// Joins lists of tools or hashes; `N` is the sum of their lengths.
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
                "two tools have the same name, or names with the same hash: rename one of them"
            );
            earlier += 1;
        }
        at += 1;
    }
}
