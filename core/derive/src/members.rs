//! The members of an object: named fields of a struct or of a variant.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, Field, Lifetime, Lit, LitStr, Result, Token, Type};

use crate::attributes::{Bounds, FieldOptions, fraction, known_format};
use crate::case::Case;

/// The trait that is derived, and implemented by the types of the members.
#[derive(Clone, Copy)]
pub(crate) enum Trait<'t> {
    /// `Input`, of text with this lifetime.
    Input(&'t Lifetime),
    Output,
}

impl Trait<'_> {
    /// Returns a type as this trait.
    pub(crate) fn of(self, ty: &Type) -> TokenStream {
        let span = ty.span();
        match self {
            Self::Input(lifetime) => {
                quote_spanned!(span=> <#ty as ::mcp_sansio::typed::Input<#lifetime>>)
            }
            Self::Output => quote_spanned!(span=> <#ty as ::mcp_sansio::typed::Output>),
        }
    }
}

/// Code for the members of an object.
#[derive(Default)]
pub(crate) struct Members {
    pub(crate) count: usize,
    /// Names of the fields, and of the members.
    idents: Vec<Ident>,
    names: Vec<String>,
    /// Expressions of type `Member`.
    rules: Vec<TokenStream>,
    /// Expressions of type `Docs`.
    docs: Vec<TokenStream>,
    /// Initializers of the fields; `members` is the array of values.
    fields: Vec<TokenStream>,
}

impl Members {
    pub(crate) fn new(
        fields: &Punctuated<Field, Token![,]>,
        case: Case,
        derived: Trait<'_>,
    ) -> Result<Self> {
        let mut members = Self { count: fields.len(), ..Self::default() };
        for (place, field) in fields.iter().enumerate() {
            let code = MemberCode::new(field, derived)?;
            let Some(ident) = &field.ident else {
                return Err(Error::new_spanned(field, "a member needs a name"));
            };
            let name = code.options.name.as_ref().map_or_else(|| case.of(ident), LitStr::value);
            let (rule, optional, docs) = (&code.rule, &code.optional, &code.docs);
            members.rules.push(quote!(::mcp_sansio::typed::Member {
                name: #name,
                rule: #rule,
                optional: #optional,
            }));
            members.docs.push(quote!(#docs));
            let read = code.read(quote!(members[#place]));
            members.fields.push(quote!(#ident: #read));
            members.idents.push(ident.clone());
            members.names.push(name);
        }
        Ok(members)
    }

    /// An expression of type `&'static Object`.
    pub(crate) fn object(&self, open: bool) -> TokenStream {
        let rules = &self.rules;
        quote!(&const { ::mcp_sansio::typed::Object::new(&const { [#(#rules),*] }, #open) })
    }

    /// An expression of type `&'static [Docs]`.
    pub(crate) fn docs(&self) -> TokenStream {
        let docs = &self.docs;
        quote!(&const { [#(#docs),*] })
    }

    /// An expression that makes the value of `members`.
    pub(crate) fn build(&self, path: &TokenStream) -> TokenStream {
        let fields = &self.fields;
        quote!(#path { #(#fields),* })
    }

    /// A pattern for the fields, and statements that write them to the encoder `to`.
    pub(crate) fn write(&self) -> [TokenStream; 2] {
        let Self { idents, names, .. } = self;
        // No name of a field may hide the encoder.
        let values: Vec<_> = (0..self.count).map(|place| format_ident!("member{place}")).collect();
        [
            quote!({ #(#idents: #values),* }),
            quote!(#(::mcp_sansio::internal::typed::write_member(to, #names, #values);)*),
        ]
    }
}

/// Code for a field.
pub(crate) struct MemberCode<'f> {
    ty: &'f Type,
    /// The type as the trait.
    pub(crate) of_type: TokenStream,
    pub(crate) options: FieldOptions,
    pub(crate) rule: TokenStream,
    optional: TokenStream,
    pub(crate) docs: TokenStream,
}

impl<'f> MemberCode<'f> {
    pub(crate) fn new(field: &'f Field, derived: Trait<'_>) -> Result<Self> {
        let mut options = FieldOptions::parse(&field.attrs)?;
        if matches!(derived, Trait::Output) {
            // Only arguments are repeated in header fields.
            options.header = None;
        }
        let of_type = derived.of(&field.ty);
        let optional =
            if options.default.is_some() { quote!(true) } else { quote!(#of_type::OPTIONAL) };
        let rule = rule(quote!(#of_type::RULE), &options)?;
        let docs = docs_of(quote!(#of_type::DOCS), &rule, &options);
        Ok(Self { ty: &field.ty, of_type, options, rule, optional, docs })
    }

    /// An expression that reads the value of the field.
    pub(crate) fn read(&self, value: TokenStream) -> TokenStream {
        let Self { ty, of_type, options, .. } = self;
        let read = quote!(#of_type::read(#value));
        match &options.default {
            None => read,
            Some(default) => {
                let default = match default {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                        let from = quote!(<#ty as ::core::convert::From<&str>>::from);
                        quote_spanned!(text.span()=> #from(#text))
                    }
                    other => quote!(#other),
                };
                quote!(if #value.is_null() { #default } else { #read })
            }
        }
    }
}

/// Returns the rule of the type, restricted by the options.
fn rule(mut rule: TokenStream, options: &FieldOptions) -> Result<TokenStream> {
    if let Some(Bounds { spans, min, max }) = &options.length {
        let bound = |bound| integer(bound, quote!(0, u32::MAX as i64));
        let min = min.as_ref().map(bound).map_or(quote!(0), |min| quote!(#min as u32));
        let max = max.as_ref().map(bound).map_or(quote!(u32::MAX), |max| quote!(#max as u32));
        rule = call("length", *spans, quote!(#rule, #min, #max));
    }
    if let Some(format) = &options.format {
        let constant = match format {
            Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) => {
                let constant = known_format(name)?;
                quote!(#constant)
            }
            other => quote!(#other),
        };
        rule = call("format", [format.span(); 2], quote!(#rule, &const { #constant }));
    }
    let Some(bounds) = &options.range else { return Ok(rule) };
    let is_fraction = |bound: &Option<Expr>| bound.as_ref().is_some_and(|b| fraction(b).is_some());
    Ok(if is_fraction(&bounds.min) || is_fraction(&bounds.max) {
        check_fractions(bounds, options.default.as_ref())?;
        let bound = |bound: &Option<Expr>| option(bound.as_ref().and_then(fraction));
        let (min, max) = (bound(&bounds.min), bound(&bounds.max));
        let range = quote!(&const { ::mcp_sansio::typed::NumberRange::new(#min, #max) });
        call("numbers", bounds.spans, quote!(#rule, #range))
    } else {
        let integer = |bound: &Expr| integer(bound, quote!(i64::MIN, i64::MAX));
        let bound = |bound: &Option<Expr>| option(bound.as_ref().map(integer));
        let (min, max) = (bound(&bounds.min), bound(&bounds.max));
        let narrowed = call("narrow", bounds.spans, quote!(#rule, #min, #max));
        quote!(::mcp_sansio::typed::Rule::Integer(&const { #narrowed }))
    })
}

fn option<T: ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// Returns an integer of any type, also that of a constant, which must be in the limits.
fn integer(value: &Expr, limits: TokenStream) -> TokenStream {
    quote_spanned!(value.span()=> ::mcp_sansio::internal::typed::integer((#value) as i128, #limits))
}

/// Returns the call of a function of `Rule`. If it panics, the compiler marks the tokens from the
/// first span to the second.
fn call(function: &str, [begin, end]: [Span; 2], arguments: TokenStream) -> TokenStream {
    let function = Ident::new(function, begin);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(end);
    quote_spanned!(begin=> ::mcp_sansio::typed::Rule::#function #arguments)
}

/// Checks the bounds of a fraction, which are compared as decimal text at run time.
fn check_fractions(bounds: &Bounds, default: Option<&Expr>) -> Result<()> {
    let value = |bound: &Expr| match fraction(bound).and_then(|text| text.parse::<f64>().ok()) {
        Some(value) => Ok(value),
        None => Err(Error::new_spanned(bound, "write both bounds with a point: `0.0..=1.0`")),
    };
    let min = bounds.min.as_ref().map(value).transpose()?;
    let max = bounds.max.as_ref().map(value).transpose()?;
    if min.zip(max).is_some_and(|(min, max)| min > max) {
        return Err(Error::new(
            bounds.spans[0],
            "`range` is empty: its start is greater than its end",
        ));
    }
    let default = default.filter(|default| fraction(default).is_some());
    let Some(default) = default else { return Ok(()) };
    let number = value(default)?;
    if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
        return Err(Error::new_spanned(default, "the default is not in the `range`"));
    }
    Ok(())
}

/// An expression of type `Docs`: what is given here, and for the rest what `of_type` says, if there
/// is such a type.
pub(crate) fn docs(
    description: &str,
    title: Option<&LitStr>,
    inner: Option<TokenStream>,
    of_type: Option<&TokenStream>,
) -> TokenStream {
    let description = Some(description).filter(|text| !text.is_empty()).into_iter();
    let (title, inner) = (title.into_iter(), inner.into_iter());
    let none = quote!(::mcp_sansio::typed::Docs::NONE);
    let rest = of_type.unwrap_or(&none);
    quote!(::mcp_sansio::typed::Docs {
        #(description: #description,)*
        #(title: #title,)*
        #(inner: #inner,)*
        ..#rest
    })
}

/// Returns what the schema says of the member: what the type says, unless the field says it.
fn docs_of(of_type: TokenStream, rule: &TokenStream, options: &FieldOptions) -> TokenStream {
    let mut docs = TokenStream::new();
    if !options.description.is_empty() {
        let description = &options.description;
        docs.extend(quote!(description: #description,));
    }
    if let Some(title) = &options.title {
        docs.extend(quote!(title: #title,));
    }
    if let Some(header) = &options.header {
        let header = call("header", [header.span(); 2], quote!(#rule, #header));
        docs.extend(quote!(header: #header,));
    }
    if let Some(default) = &options.default {
        let value = match (default, fraction(default)) {
            (_, Some(number)) => quote!(Number(#number)),
            (Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), _) => quote!(String(#text)),
            (other, _) => {
                let integer = integer(other, quote!(i64::MIN, i64::MAX));
                quote_spanned!(other.span()=> Integer(#integer))
            }
        };
        let value = quote!(#rule, ::mcp_sansio::typed::Default::#value);
        let default = call("default", [default.span(); 2], value);
        docs.extend(quote!(default: #default,));
    }
    if docs.is_empty() { of_type } else { quote!(::mcp_sansio::typed::Docs { #docs ..#of_type }) }
}
