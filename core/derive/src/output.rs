//! `#[derive(Output)]`: types that are written as JSON, with a schema.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, LitStr, Result};

use crate::Target;
use crate::attributes::TypeOptions;
use crate::enums::{self, Objects, Variant, check_names, only_type, variants};
use crate::members::{MemberCode, Members, Trait, docs};
use crate::structs::Contents;

pub(crate) fn output(item: &DeriveInput, target: &Target) -> Result<TokenStream> {
    let options = TypeOptions::parse(&item.attrs)?;
    match &item.data {
        Data::Struct(data) => match Contents::new(&data.fields, &options, Trait::Output)? {
            Contents::Members(members) => Ok(object(&options, &members, target)),
            Contents::Newtype(member) => Ok(newtype(&options, &member, target)),
        },
        Data::Enum(data) => one_of(item, data, &options, target),
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "`Output` is for structs and enums"))
        }
    }
}

/// Implements the traits for an object.
fn object(options: &TypeOptions, members: &Members, target: &Target) -> TokenStream {
    let object = members.object(options.open.is_some());
    let rule = quote!(::mcp_sansio::typed::Rule::Object(#object));
    let docs = docs(&options.description, None, Some(members.docs()), None);
    let [pattern, write] = members.write();
    let write = quote! {
        let Self #pattern = self;
        #write
    };
    implementation(&rule, &docs, &write, target)
}

/// Implements the traits for values that are objects; `write` writes the members.
fn implementation(
    rule: &TokenStream,
    docs: &TokenStream,
    write: &TokenStream,
    target: &Target,
) -> TokenStream {
    let Target { generics, ty, ty_static, .. } = target;
    quote! {
        #[automatically_derived]
        impl #generics ::mcp_sansio::Encode for #ty {
            fn encode(&self, to: &mut ::mcp_sansio::Encoder<'_>) {
                to.begin_object();
                ::mcp_sansio::typed::OutputObject::encode_members(self, to);
                to.end_object();
            }
        }
        #[automatically_derived]
        impl #generics ::mcp_sansio::typed::Output for #ty {
            const RULE: ::mcp_sansio::typed::Rule = #rule;
            const DOCS: ::mcp_sansio::typed::Docs = #docs;
        }
        #[automatically_derived]
        impl #generics ::mcp_sansio::typed::OutputObject for #ty {
            const SCHEMA: ::mcp_sansio::RawJson<'static> =
                ::mcp_sansio::internal::typed::schema(&__SCHEMA);
            fn encode_members(&self, to: &mut ::mcp_sansio::Encoder<'_>) {
                #write
            }
        }
        const __RULE: ::mcp_sansio::typed::Rule =
            <#ty_static as ::mcp_sansio::typed::Output>::RULE;
        const __DOCS: ::mcp_sansio::typed::Docs =
            <#ty_static as ::mcp_sansio::typed::Output>::DOCS;
        const __SCHEMA: [u8; ::mcp_sansio::internal::typed::schema_len(&__RULE, &__DOCS, false)] =
            ::mcp_sansio::internal::typed::schema_bytes(&__RULE, &__DOCS, false);
    }
}

/// Implements `Output` for a type that is written as its only field.
fn newtype(options: &TypeOptions, member: &MemberCode<'_>, target: &Target) -> TokenStream {
    let Target { generics, ty, .. } = target;
    let MemberCode { rule, of_type, .. } = member;
    let docs = docs(&options.description, None, None, Some(&member.docs));
    let encode = quote!(::mcp_sansio::Encode::encode(&self.0, to));
    let optional = quote! {
        const OPTIONAL: bool = #of_type::OPTIONAL;
        fn is_omitted(&self) -> bool {
            #of_type::is_omitted(&self.0)
        }
    };
    value(rule, &docs, &encode, &optional, generics, ty)
}

/// Implements `Encode` and `Output` for values that are no objects.
fn value(
    rule: &TokenStream,
    docs: &TokenStream,
    encode: &TokenStream,
    optional: &TokenStream,
    generics: &TokenStream,
    ty: &TokenStream,
) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl #generics ::mcp_sansio::Encode for #ty {
            fn encode(&self, to: &mut ::mcp_sansio::Encoder<'_>) {
                #encode
            }
        }
        #[automatically_derived]
        impl #generics ::mcp_sansio::typed::Output for #ty {
            const RULE: ::mcp_sansio::typed::Rule = #rule;
            const DOCS: ::mcp_sansio::typed::Docs = #docs;
            #optional
        }
    }
}

fn one_of(
    item: &DeriveInput,
    data: &DataEnum,
    options: &TypeOptions,
    target: &Target,
) -> Result<TokenStream> {
    let variants = variants(item, data, options)?;
    if let Some(untagged) = &options.untagged {
        return any_of(options, untagged, &variants, target);
    }
    if let Some(tag) = &options.tag {
        return tagged(options, tag, &variants, target);
    }
    check_names(options, &variants)?;
    let names = variants.iter().map(|variant| &variant.name);
    let rule = quote!(::mcp_sansio::typed::Rule::Enum(&[#(#names),*]));
    let docs = docs(&options.description, None, None, None);
    let arms = variants.iter().map(|Variant { variant, name, .. }| {
        let ident = &variant.ident;
        quote!(Self::#ident => #name)
    });
    let encode = quote!(to.string(match self { #(#arms),* }));
    Ok(value(&rule, &docs, &encode, &TokenStream::new(), &target.generics, &target.ty))
}

/// Implements `Encode` for an enum that is written as the object in it, and makes it of each.
fn any_of(
    options: &TypeOptions,
    untagged: &Ident,
    variants: &[Variant<'_>],
    target: &Target,
) -> Result<TokenStream> {
    if options.tag.is_some() || options.open.is_some() || options.rename_all.is_some() {
        return Err(Error::new(untagged.span(), "`untagged` stands alone"));
    }
    let Target { generics, ty, .. } = target;
    let (mut arms, mut types, mut conversions) = (vec![], vec![], vec![]);
    for Variant { variant, options: own, .. } in variants {
        let ident = &variant.ident;
        if let Some(option) = own.name.as_ref().or(own.title.as_ref()) {
            let message = "a variant of an untagged enum is not seen, and has no name or title";
            return Err(Error::new(option.span(), message));
        }
        let inner = match &variant.fields {
            Fields::Unnamed(fields) => only_type(fields)?,
            _ => None,
        };
        let Some(inner) = inner else {
            let message = "a variant of an untagged enum has one struct that derives Output";
            return Err(Error::new_spanned(variant, message));
        };
        let name = quote!(#inner).to_string();
        if types.contains(&name) {
            return Err(Error::new_spanned(inner, "another variant has this type"));
        }
        types.push(name);
        arms.push(quote_spanned!(inner.span()=>
            Self::#ident(object) => ::mcp_sansio::typed::OutputObject::encode_members(object, to)
        ));
        conversions.push(quote! {
            #[automatically_derived]
            impl #generics ::core::convert::From<#inner> for #ty {
                fn from(object: #inner) -> Self {
                    Self::#ident(object)
                }
            }
        });
    }
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::mcp_sansio::Encode for #ty {
            fn encode(&self, to: &mut ::mcp_sansio::Encoder<'_>) {
                to.begin_object();
                match self { #(#arms),* }
                to.end_object();
            }
        }
        #(#conversions)*
    })
}

/// Implements the traits for an enum of objects.
fn tagged(
    options: &TypeOptions,
    tag: &LitStr,
    variants: &[Variant<'_>],
    target: &Target,
) -> Result<TokenStream> {
    let Objects { rule, docs, contents } = Objects::new(options, tag, variants, Trait::Output)?;
    let arms = variants.iter().zip(&contents).map(|(Variant { variant, name, .. }, contents)| {
        let ident = &variant.ident;
        let [pattern, write] = match contents {
            enums::Contents::Members(members) => members.write(),
            enums::Contents::Struct(_) => [
                quote!((object)),
                quote!(::mcp_sansio::typed::OutputObject::encode_members(object, to);),
            ],
        };
        quote! {
            Self::#ident #pattern => {
                to.member(#tag, #name);
                #write
            }
        }
    });
    let write = quote!(match self { #(#arms)* });
    Ok(implementation(&rule, &docs, &write, target))
}
