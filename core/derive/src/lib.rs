//! The derive macros of `mcp-sansio`, exported by its feature `derive`. Its module `typed`
//! documents them.

mod attributes;
mod case;
mod enums;
mod members;
mod output;
mod structs;
mod stubs;
mod tool_call;
mod tools;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, GenericParam, Lifetime, Result, parse_macro_input};

use crate::tools::Kind;

/// Implements `Input` for a struct or an enum, and `InputObject` for a struct with named fields:
/// see the module `mcp_sansio::typed`.
#[proc_macro_derive(Input, attributes(input, arg))]
pub fn input(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(item as DeriveInput), |item, target| {
        expand_input(item, target).unwrap_or_else(|error| stubs::input(item, target, error))
    })
}

/// Implements `Output`, `Encode` and, unless it is an enum of names or a newtype, `OutputObject`;
/// for an `untagged` enum only `Encode` and `From`: see the trait `mcp_sansio::typed::Output`.
#[proc_macro_derive(Output, attributes(input, output, arg))]
pub fn output(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(item as DeriveInput), |item, target| {
        output::output(item, target).unwrap_or_else(|error| stubs::output(item, target, error))
    })
}

/// Implements `Tools` for an enum whose variants are tools: see the trait
/// `mcp_sansio::typed::Tools`.
#[proc_macro_derive(Tools, attributes(tool, arg))]
pub fn tools(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(item as DeriveInput), |item, target| {
        tools::expand(item, Kind::Tools, target)
    })
}

/// Implements `ToolCall` for a struct that is the arguments of a tool: see the trait
/// `mcp_sansio::typed::ToolCall`.
#[proc_macro_derive(ToolCall, attributes(tool))]
pub fn tool_call(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(item as DeriveInput), |item, target| {
        tool_call::tool_call(item, target).unwrap_or_else(Error::into_compile_error)
    })
}

/// Implements `Prompts` for an enum whose variants are prompts: see the trait
/// `mcp_sansio::typed::Prompts`.
#[proc_macro_derive(Prompts, attributes(prompt, arg))]
pub fn prompts(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(&parse_macro_input!(item as DeriveInput), |item, target| {
        tools::expand(item, Kind::Prompts, target)
    })
}

/// `macro_of` returns the errors among the code, since a type without the traits has more of them.
fn expand(
    item: &DeriveInput,
    macro_of: fn(&DeriveInput, &Target) -> TokenStream,
) -> proc_macro::TokenStream {
    let code = Target::new(item).map(|target| {
        let body = macro_of(item, &target);
        // The options are the user's expressions, in casts and calls that lints complain about.
        // Their names are looked up here first, so the constants here have names of their own.
        quote! {
            #[allow(
                clippy::all, clippy::pedantic, clippy::restriction,
                trivial_numeric_casts, unused_variables,
            )]
            const _: () = { #body };
        }
    });
    code.unwrap_or_else(Error::into_compile_error).into()
}

fn expand_input(item: &DeriveInput, target: &Target) -> Result<TokenStream> {
    match &item.data {
        Data::Struct(data) => structs::input(item, &data.fields, target),
        Data::Enum(data) => enums::input(item, data, target),
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "`Input` is for structs and enums"))
        }
    }
}

/// The type that a macro implements a trait for.
struct Target {
    /// The lifetime of the JSON text: that of the type, or a new one.
    lifetime: Lifetime,
    /// The parameters of an `impl` for the type: its lifetime, or nothing.
    generics: TokenStream,
    /// The type with its lifetime.
    ty: TokenStream,
    /// The type with `'static`, for constants without parameters.
    ty_static: TokenStream,
}

impl Target {
    fn new(item: &DeriveInput) -> Result<Self> {
        let ident = &item.ident;
        let mut lifetime = None;
        for param in &item.generics.params {
            match param {
                GenericParam::Lifetime(param) if lifetime.is_none() => {
                    lifetime = Some(param.lifetime.clone());
                }
                GenericParam::Lifetime(param) => {
                    return Err(Error::new_spanned(
                        param,
                        "a type has one lifetime: that of the JSON text that it is read from, or of \
                         the data that it is written from",
                    ));
                }
                GenericParam::Type(_) | GenericParam::Const(_) => {
                    return Err(Error::new_spanned(
                        param,
                        "a type with type or const parameters has no constant schema: write a \
                         struct for each type that is needed, or read the member as a RawJson",
                    ));
                }
            }
        }
        Ok(match lifetime {
            Some(lifetime) => Self {
                generics: quote!(<#lifetime>),
                ty: quote!(#ident<#lifetime>),
                ty_static: quote!(#ident<'static>),
                lifetime,
            },
            None => Self {
                generics: TokenStream::new(),
                lifetime: Lifetime::new("'json", proc_macro2::Span::mixed_site()),
                ty: quote!(#ident),
                ty_static: quote!(#ident),
            },
        })
    }
}
