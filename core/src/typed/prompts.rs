//! The prompts of a server as one type.

use super::check;
use super::docs::Docs;
use super::faults::Faults;
use super::input::check_members;
use super::rule::{Member, Rule};
use super::tools::find;
use crate::catalog::{Catalog, Entry, TypedPrompts};
use crate::encode::{Encode, Encoder, With, object};
use crate::error::SendError;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Method;
use crate::server::{Request, Server};
use crate::tx::Tx;
use crate::types::{Prompt, PromptArgument, Text};

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
/// A variant has no fields, named fields, or a struct that derives [`Input`](super::Input). The
/// arguments of a prompt are strings, so a field is a text or an enum without fields, or an
/// `Option` of one. The documentation of a variant is the description of the prompt. Options,
/// `#[prompt(..)]`:
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
pub trait Prompts<'a>: Sized {
    /// The prompts, which [`Catalog::prompts_of`](crate::Catalog::prompts_of) lists.
    const PROMPTS: &'static [Entry<'static>];

    /// The rules of their arguments, in the same order.
    #[doc(hidden)]
    const RULES: &'static [&'static Rule];

    /// Hashes of the names, so that a name is compared with one of them only.
    #[doc(hidden)]
    const HASHES: &'static [u32];

    /// Reads the arguments of the prompt at this place of the list.
    #[doc(hidden)]
    fn read(place: usize, arguments: RawJson<'a>) -> Result<Self, Faults<'a>>;

    /// Checks and reads the arguments of a prompt. Returns `None` if there is no prompt with this
    /// name.
    ///
    /// # Errors
    /// As [`InputObject::parse`](super::InputObject::parse). Respond with
    /// [`Server::respond_invalid_params`](crate::Server::respond_invalid_params).
    fn parse<'n>(
        name: impl Into<Text<'n>>,
        arguments: RawJson<'a>,
    ) -> Option<Result<Self, Faults<'a>>> {
        find(Self::PROMPTS, Self::HASHES, name.into()).map(|place| Self::read(place, arguments))
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
        Self::parse(name, request.arguments().raw())
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
    #[must_use]
    pub const fn prompts_of<P: Prompts<'static>>(self) -> Self {
        self.typed_prompts(
            P::PROMPTS,
            TypedPrompts {
                is_valid: |prompt, arguments| {
                    let rule = rule_of::<P>(prompt);
                    rule.is_none_or(|rule| check_members(rule, arguments, &mut []).is_ok())
                },
                respond: |prompt, server, request, tx| match rule_of::<P>(prompt) {
                    Some(rule) => respond(rule, server, request, tx),
                    None => Ok(false),
                },
            },
        )
    }
}

fn rule_of<P: Prompts<'static>>(prompt: &Entry<'_>) -> Option<&'static Rule> {
    find(P::PROMPTS, P::HASHES, prompt.key()).and_then(|place| P::RULES.get(place)).copied()
}

/// Responds to invalid arguments of a prompt, or with the completion of one that is an enum.
fn respond(
    rule: &'static Rule,
    server: &mut Server<'_>,
    request: &Request<'_>,
    tx: &mut Tx<'_>,
) -> Result<bool, SendError> {
    if request.method == Method::PromptsGet {
        let checked = check_members(rule, request.arguments().raw(), &mut []);
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
        let matching = || self.names.iter().filter(|name| check::begins_with(name, self.typed));
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
#[must_use]
pub const fn count_members(rule: &Rule) -> usize {
    rule.object().members.len()
}

/// Returns the arguments of a prompt as its list shows them; `N` is the number of members.
#[must_use]
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
#[must_use]
pub const fn prompt(
    prompt: Prompt<'static>,
    arguments: &'static [PromptArgument<'static>],
) -> Prompt<'static> {
    if arguments.is_empty() { prompt } else { prompt.arguments(arguments) }
}
