//! `#[derive(Input)]` on enums: one of several strings, or one of several objects.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DataEnum, DeriveInput, Error, Fields, LitStr, Result};

use crate::Target;
use crate::attributes::{TypeOptions, VariantOptions};
use crate::members::Members;

pub(crate) fn input(item: &DeriveInput, data: &DataEnum, target: &Target) -> Result<TokenStream> {
    let options = TypeOptions::parse(&item.attrs)?;
    if data.variants.is_empty() {
        return Err(Error::new_spanned(&item.ident, "an enum without variants has no values"));
    }
    let mut variants = Vec::new();
    for variant in &data.variants {
        let own = VariantOptions::parse(&variant.attrs)?;
        let case = options.rename_all.unwrap_or_default();
        let name = own.name.as_ref().map_or_else(|| case.of(&variant.ident), LitStr::value);
        if variants.iter().any(|other: &Variant<'_>| other.name == name) {
            return Err(Error::new_spanned(&variant.ident, "two variants have the same name"));
        }
        variants.push(Variant { variant, options: own, name });
    }
    match &options.tag {
        Some(tag) => tagged(&options, tag, &variants, target),
        None => strings(&options, &variants, target),
    }
}

struct Variant<'v> {
    variant: &'v syn::Variant,
    options: VariantOptions,
    name: String,
}

/// Implements `Input` for an enum of names.
fn strings(
    options: &TypeOptions,
    variants: &[Variant<'_>],
    target: &Target,
) -> Result<TokenStream> {
    for Variant { variant, .. } in variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(
                &variant.fields,
                "an enum whose variants have fields names the member that tells them apart: \
                 #[input(tag = \"kind\")]",
            ));
        }
        if let Some((_, discriminant)) = &variant.discriminant {
            // A default is shown by its place among the names.
            return Err(Error::new_spanned(discriminant, "remove the number of this variant"));
        }
    }
    if let Some(open) = &options.open {
        return Err(Error::new(open.span(), "`open` is for objects"));
    }
    let Target { lifetime, ty, .. } = target;
    let description = &options.description;
    let names = variants.iter().map(|variant| &variant.name);
    let arms = arms(variants.iter().map(|Variant { variant, .. }| {
        let ident = &variant.ident;
        quote!(Self::#ident)
    }));
    Ok(quote! {
        const NAMES: &[&str] = &[#(#names),*];
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule = ::mcp_sansio::typed::Rule::Enum(NAMES);
            const DOCS: ::mcp_sansio::typed::Docs = ::mcp_sansio::typed::Docs {
                description: #description,
                ..::mcp_sansio::typed::Docs::NONE
            };
            fn read(value: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                match ::mcp_sansio::typed::find_name(NAMES, value) { #(#arms)* }
            }
        }
    })
}

/// Implements `Input` for an enum of objects.
fn tagged(
    options: &TypeOptions,
    tag: &LitStr,
    variants: &[Variant<'_>],
    target: &Target,
) -> Result<TokenStream> {
    let Target { lifetime, ty, ty_static } = target;
    let (mut objects, mut docs, mut values, mut count) = (vec![], vec![], vec![], 0);
    for Variant { variant, options: own, .. } in variants {
        let ident = &variant.ident;
        let description = &own.description;
        let members = match &variant.fields {
            Fields::Named(fields) => {
                Members::new(&fields.named, options.rename_all.unwrap_or_default(), lifetime)?
            }
            Fields::Unit => Members::NONE,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let inner = &fields.unnamed[0].ty;
                let input = quote!(<#inner as ::mcp_sansio::typed::Input<#lifetime>>);
                let description = Some(description).filter(|text| !text.is_empty()).into_iter();
                objects.push(quote_spanned!(inner.span()=>
                    ::mcp_sansio::typed::Rule::object(#input::RULE)
                ));
                docs.push(quote!(
                    ::mcp_sansio::typed::Docs { #(description: #description,)* ..#input::DOCS }
                ));
                values.push(quote!(Self::#ident(#input::read(value))));
                continue;
            }
            Fields::Unnamed(fields) => {
                let message = "a variant that is read from JSON has named fields, or one struct";
                return Err(Error::new_spanned(fields, message));
            }
        };
        count = count.max(members.count);
        let inner = members.docs();
        objects.push(members.object(options.open.is_some()));
        docs.push(quote!(::mcp_sansio::typed::Docs {
            description: #description,
            inner: #inner,
            ..::mcp_sansio::typed::Docs::NONE
        }));
        values.push(members.build(&quote!(Self::#ident)));
    }
    let names = variants.iter().map(|variant| &variant.name);
    let arms = arms(values.into_iter());
    let description = &options.description;
    Ok(quote! {
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule =
                ::mcp_sansio::typed::Rule::OneOf(&const {
                    ::mcp_sansio::typed::OneOf::new(
                        #tag,
                        &[#(#names),*],
                        &const { [#(#objects),*] },
                    )
                });
            const DOCS: ::mcp_sansio::typed::Docs = ::mcp_sansio::typed::Docs {
                description: #description,
                inner: &const { [#(#docs),*] },
                ..::mcp_sansio::typed::Docs::NONE
            };
            fn read(value: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                let mut members = [::mcp_sansio::RawJson::NULL; #count];
                match ::mcp_sansio::typed::find_variant(&const { Self::RULE }, value, &mut members)
                {
                    #(#arms)*
                }
            }
        }
        const _: ::mcp_sansio::typed::Rule =
            <#ty_static as ::mcp_sansio::typed::Input<'static>>::RULE;
    })
}

/// Returns the arms of a match over the places of the variants. The last one is for all others,
/// which a check has refused.
fn arms(values: impl ExactSizeIterator<Item = TokenStream>) -> Vec<TokenStream> {
    let last = values.len().saturating_sub(1);
    let arm = |(place, value)| {
        if place == last { quote!(_ => #value,) } else { quote!(#place => #value,) }
    };
    values.enumerate().map(arm).collect()
}
