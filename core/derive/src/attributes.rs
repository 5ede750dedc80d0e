//! Parses the attributes: `#[input(..)]` on types and variants, `#[arg(..)]` on fields, and
//! documentation.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::format_ident;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprLit, ExprUnary, Lit, LitBool, LitStr, Meta, Path, Result, Token,
    Type, UnOp, parse2,
};

use crate::case::Case;

/// Options of a type.
#[derive(Default)]
pub(crate) struct TypeOptions {
    pub(crate) description: String,
    pub(crate) open: Option<Ident>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) tag: Option<LitStr>,
    pub(crate) schema: Option<Expr>,
    pub(crate) untagged: Option<Ident>,
}

impl TypeOptions {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        refuse(attributes, &["arg"])?;
        let mut options = Self { description: description(attributes)?, ..Self::default() };
        let known = "`open`, `rename_all = \"..\"`, `tag = \"..\"`, `schema = CONSTANT`";
        each(attributes, "input", known, |key, meta| match key {
            "open" => once(&mut options.open, meta, flag),
            "rename_all" => once(&mut options.rename_all, meta, |meta| Case::parse(&string(meta)?)),
            "tag" => once(&mut options.tag, meta, name),
            "schema" => once(&mut options.schema, meta, value),
            _ => Ok(false),
        })?;
        each(attributes, "output", "`untagged`", |key, meta| match key {
            "untagged" => once(&mut options.untagged, meta, flag),
            _ => Ok(false),
        })?;
        Ok(options)
    }
}

/// Options of a variant of an enum that is read from JSON.
#[derive(Default)]
pub(crate) struct VariantOptions {
    pub(crate) description: String,
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
}

impl VariantOptions {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        refuse(attributes, &["output", "arg"])?;
        let mut options = Self { description: description(attributes)?, ..Self::default() };
        each(attributes, "input", "`name = \"..\"`, `title = \"..\"`", |key, meta| match key {
            "name" => once(&mut options.name, meta, name),
            "title" => once(&mut options.title, meta, string),
            _ => Ok(false),
        })?;
        Ok(options)
    }
}

/// Options of a variant that is a tool or a prompt.
#[derive(Default)]
pub(crate) struct EntryOptions {
    pub(crate) description: String,
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    /// Setters of `ToolAnnotations`, with their values.
    pub(crate) hints: Vec<(Ident, bool)>,
    pub(crate) returns: Option<Type>,
    /// Expression of type `ui::ToolMeta`.
    pub(crate) ui: Option<TokenStream>,
    /// Variant of `TaskSupport`.
    pub(crate) task: Option<Ident>,
    pub(crate) flatten: Option<Ident>,
    /// Separated by spaces.
    pub(crate) scopes: Option<LitStr>,
}

impl EntryOptions {
    /// Whether an option is given that belongs to one entry.
    pub(crate) fn describes_entry(&self) -> bool {
        let Self { name, title, hints, returns, ui, task, scopes, description: _, flatten: _ } =
            self;
        name.is_some()
            || title.is_some()
            || !hints.is_empty()
            || returns.is_some()
            || ui.is_some()
            || task.is_some()
            || scopes.is_some()
    }

    pub(crate) fn of_tool(attributes: &[Attribute]) -> Result<Self> {
        refuse(attributes, &["arg"])?;
        let mut options = Self { description: description(attributes)?, ..Self::default() };
        let known = "`name = \"..\"`, `title = \"..\"`, `read_only`, `destructive`, `idempotent`, \
                     `open_world`, `returns = Type`, `ui = ToolMeta`, `task`, `task = \"required\"`, \
                     `scopes(\"..\")`, `flatten`";
        each(attributes, "tool", known, |key, meta| match key {
            "returns" => once(&mut options.returns, meta, value),
            "ui" => once(&mut options.ui, meta, tokens),
            "task" => once(&mut options.task, meta, task_support),
            "read_only" | "destructive" | "idempotent" | "open_world" => {
                let is_set = !meta.input.peek(Token![=]) || value::<LitBool>(meta)?.value;
                let hint = format_ident!("{key}_hint", span = meta.path.span());
                if options.hints.iter().any(|(other, _)| *other == hint) {
                    return Err(meta.error(GIVEN_TWICE));
                }
                options.hints.push((hint, is_set));
                Ok(true)
            }
            _ => options.read(key, meta),
        })?;
        Ok(options)
    }

    pub(crate) fn of_call(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        each(attributes, "tool", "`name = \"..\"`, `returns = Type`", |key, meta| match key {
            "name" => once(&mut options.name, meta, name),
            "returns" => once(&mut options.returns, meta, value),
            _ => Ok(false),
        })?;
        Ok(options)
    }

    pub(crate) fn of_prompt(attributes: &[Attribute]) -> Result<Self> {
        refuse(attributes, &["arg"])?;
        let mut options = Self { description: description(attributes)?, ..Self::default() };
        let known = "`name = \"..\"`, `title = \"..\"`, `scopes(\"..\")`, `flatten`";
        each(attributes, "prompt", known, |key, meta| options.read(key, meta))?;
        Ok(options)
    }

    fn read(&mut self, key: &str, meta: &ParseNestedMeta<'_>) -> Result<bool> {
        match key {
            "name" => once(&mut self.name, meta, name),
            "title" => once(&mut self.title, meta, string),
            "flatten" => once(&mut self.flatten, meta, flag),
            "scopes" => once(&mut self.scopes, meta, scopes),
            _ => Ok(false),
        }
    }
}

/// Reads `scopes("files:read", "files:write")`.
fn scopes(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let content;
    syn::parenthesized!(content in meta.input);
    let scopes = content.parse_terminated(<LitStr as Parse>::parse, Token![,])?;
    let is_allowed = |b: u8| matches!(b, b'!' | b'#'..=b'[' | b']'..=b'~');
    let mut all = Vec::new();
    for scope in &scopes {
        let text = scope.value();
        if text.is_empty() || !text.bytes().all(is_allowed) {
            let message = "a scope has visible letters of ASCII, without `\"` and `\\`";
            return Err(Error::new(scope.span(), message));
        }
        all.push(text);
    }
    if all.is_empty() {
        return Err(meta.error("expected scopes: `scopes(\"files:read\", \"files:write\")`"));
    }
    Ok(LitStr::new(&all.join(" "), meta.path.span()))
}

/// Reads `task` or `task = "required"`.
fn task_support(meta: &ParseNestedMeta<'_>) -> Result<Ident> {
    let span = meta.path.span();
    if !meta.input.peek(Token![=]) {
        return Ok(Ident::new("Optional", span));
    }
    let text = string(meta)?;
    match text.value().as_str() {
        "optional" => Ok(Ident::new("Optional", span)),
        "required" => Ok(Ident::new("Required", span)),
        _ => Err(Error::new(text.span(), "`task`, or `task = \"required\"`")),
    }
}

/// Options of a field.
#[derive(Default)]
pub(crate) struct FieldOptions {
    pub(crate) description: String,
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) range: Option<Bounds>,
    pub(crate) length: Option<Bounds>,
    pub(crate) format: Option<Expr>,
    pub(crate) default: Option<Expr>,
    pub(crate) header: Option<LitStr>,
}

impl FieldOptions {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        refuse(attributes, &["input", "output"])?;
        let mut options = Self { description: description(attributes)?, ..Self::default() };
        let known = "`range = 1..=10`, `length = 1..=10`, `format = \"date\"`, `default = ..`, \
                     `name = \"..\"`, `title = \"..\"`, `header = \"..\"`";
        each(attributes, "arg", known, |key, meta| match key {
            "name" => once(&mut options.name, meta, name),
            "title" => once(&mut options.title, meta, string),
            "header" => once(&mut options.header, meta, string),
            "range" => once(&mut options.range, meta, value),
            "length" => once(&mut options.length, meta, value),
            "format" => once(&mut options.format, meta, value),
            "default" => once(&mut options.default, meta, value),
            _ => Ok(false),
        })?;
        Ok(options)
    }
}

/// A range with both ends included, one of which may be missing.
pub(crate) struct Bounds {
    /// Spans of the first and the last token.
    pub(crate) spans: [Span; 2],
    pub(crate) min: Option<Expr>,
    pub(crate) max: Option<Expr>,
}

impl Parse for Bounds {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expected = "expected a range that includes its end: `1..=10`, `1..` or `..=10`";
        let begin = input.span();
        // Any crate can enable the feature `full` of syn, with which the range is one expression.
        let mut min = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![..]) {
            min.extend([input.parse::<TokenTree>()?]);
        }
        let min = if min.is_empty() { None } else { Some(parse2::<Expr>(min)?) };
        let max = if input.peek(Token![..=]) {
            input.parse::<Token![..=]>()?;
            Some(input.parse()?)
        } else {
            input.parse::<Token![..]>().map_err(|_| input.error(expected))?;
            if !input.is_empty() && !input.peek(Token![,]) {
                return Err(input.error(expected));
            }
            None
        };
        if min.is_none() && max.is_none() {
            return Err(Error::new(begin, expected));
        }
        // Without an end, the dots are the last token; they are next to the bound.
        let end = max.as_ref().or(min.as_ref()).map_or(begin, |end| end.span());
        Ok(Self { spans: [begin, end], min, max })
    }
}

/// Returns a fraction as JSON text: a number with a point or an exponent.
pub(crate) fn fraction(value: &Expr) -> Option<String> {
    match value {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => {
            Some(format!("-{}", fraction(expr)?))
        }
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => {
            let digits = number.base10_digits();
            Some(if digits.ends_with('.') { format!("{digits}0") } else { digits.to_owned() })
        }
        _ => None,
    }
}

/// Calls `read` for each option in `#[attribute(..)]`; it returns whether the option is known.
fn each(
    attributes: &[Attribute],
    attribute: &str,
    known: &str,
    mut read: impl FnMut(&str, &ParseNestedMeta<'_>) -> Result<bool>,
) -> Result<()> {
    for attribute in attributes.iter().filter(|found| found.path().is_ident(attribute)) {
        attribute.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            if read(&key, &meta)? {
                Ok(())
            } else {
                Err(meta.error(format!("unknown option; known are {known}")))
            }
        })?;
    }
    Ok(())
}

/// Refuses attributes whose options are read in other places.
pub(crate) fn refuse(attributes: &[Attribute], names: &[&str]) -> Result<()> {
    let refuse = |name| each(attributes, name, "none in this place", |_, _| Ok(false));
    names.iter().copied().try_for_each(refuse)
}

const GIVEN_TWICE: &str = "this option is given twice";

fn once<T>(
    option: &mut Option<T>,
    meta: &ParseNestedMeta<'_>,
    read: impl FnOnce(&ParseNestedMeta<'_>) -> Result<T>,
) -> Result<bool> {
    if option.is_some() {
        return Err(meta.error(GIVEN_TWICE));
    }
    *option = Some(read(meta)?);
    Ok(true)
}

fn flag(meta: &ParseNestedMeta<'_>) -> Result<Ident> {
    meta.path.require_ident().cloned()
}

fn value<T: Parse>(meta: &ParseNestedMeta<'_>) -> Result<T> {
    meta.value()?.parse()
}

/// Returns an expression up to the next comma. Without its feature `full`, syn parses few of them.
fn tokens(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let input = meta.value()?;
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    if tokens.is_empty() { Err(input.error("expected an expression")) } else { Ok(tokens) }
}

fn string(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    value(meta)
}

/// Parses a name on the wire. Names are compared as bytes, so none has a character that JSON
/// escapes.
fn name(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name = string(meta)?;
    let text = name.value();
    if text.is_empty() || text.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        let message = "a name is not empty, and has no quote, backslash or control character";
        return Err(Error::new(name.span(), message));
    }
    Ok(name)
}

/// Returns the documentation: each paragraph on a line.
fn description(attributes: &[Attribute]) -> Result<String> {
    let mut text = String::new();
    let mut ends_paragraph = false;
    for attribute in attributes.iter().filter(|found| found.path().is_ident("doc")) {
        // `#[doc(hidden)]` is no text.
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(lines), .. }) = &doc.value else {
            return Err(Error::new_spanned(&doc.value, "write the description as a literal"));
        };
        let lines = lines.value();
        // Stars before the lines of a block comment, which rustdoc leaves out, too. A line of `///`
        // is an attribute of its own.
        let has_star = |line: &str| matches!(line.trim_start().chars().next(), None | Some('*'));
        let has_stars = lines.split('\n').skip(1).all(has_star);
        for (at, line) in lines.split('\n').map(str::trim).enumerate() {
            let text_of_line = line.strip_prefix('*').filter(|_| has_stars && at > 0);
            let line = text_of_line.unwrap_or(line).trim_start();
            if !line.is_empty() && !text.is_empty() {
                text.push(if ends_paragraph { '\n' } else { ' ' });
            }
            ends_paragraph = line.is_empty();
            text.push_str(line);
        }
    }
    Ok(text)
}

/// Returns the constant of a format that is named by a string.
pub(crate) fn known_format(name: &LitStr) -> Result<Path> {
    let constant = match name.value().as_str() {
        "date" => "DATE",
        "date-time" => "DATE_TIME",
        "email" => "EMAIL",
        "uri" => "URI",
        _ => {
            let message = "unknown format: write \"date\", \"date-time\", \"email\" or \"uri\", or \
                           the path of a constant `Format`, which has a function that checks it";
            return Err(Error::new(name.span(), message));
        }
    };
    let constant = Ident::new(constant, name.span());
    Ok(syn::parse_quote!(::mcp_sansio::typed::Format::#constant))
}
