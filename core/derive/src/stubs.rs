//! Implementations in place of those that an error keeps a derive from. They never run: they keep
//! the error free of those of all code that needs the traits.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields};

use crate::Target;
use crate::case::Case;

pub(crate) fn input(item: &DeriveInput, target: &Target, error: Error) -> TokenStream {
    let Target { lifetime, ty, .. } = target;
    let (rule, error) = (rule(item), error.into_compile_error());
    quote! {
        #error
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule = #rule;
            fn read(_: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                loop {}
            }
        }
        impl<#lifetime> ::mcp_sansio::typed::InputObject<#lifetime> for #ty {
            const SCHEMA: ::mcp_sansio::RawJson<'static> = ::mcp_sansio::RawJson::EMPTY;
            const FORM: ::mcp_sansio::RawJson<'static> = ::mcp_sansio::RawJson::EMPTY;
            fn parse_as(
                _: bool,
                _: ::mcp_sansio::internal::Indexed<#lifetime>,
            ) -> ::core::result::Result<Self, ::mcp_sansio::typed::Faults<#lifetime>> {
                loop {}
            }
        }
    }
}

pub(crate) fn output(item: &DeriveInput, target: &Target, error: Error) -> TokenStream {
    let Target { generics, ty, .. } = target;
    let (rule, error) = (rule(item), error.into_compile_error());
    quote! {
        #error
        impl #generics ::mcp_sansio::Encode for #ty {
            fn encode(&self, _: &mut ::mcp_sansio::Encoder<'_>) {}
        }
        impl #generics ::mcp_sansio::typed::Output for #ty {
            const RULE: ::mcp_sansio::typed::Rule = #rule;
        }
        impl #generics ::mcp_sansio::typed::OutputObject for #ty {
            const SCHEMA: ::mcp_sansio::RawJson<'static> = ::mcp_sansio::RawJson::EMPTY;
            fn encode_members(&self, _: &mut ::mcp_sansio::Encoder<'_>) {}
        }
    }
}

/// Returns a rule that may stand where the type does: an enum of names may be the argument of a
/// prompt, and a variant the default of a member.
fn rule(item: &DeriveInput) -> TokenStream {
    match &item.data {
        Data::Enum(data) if data.variants.iter().all(|v| matches!(v.fields, Fields::Unit)) => {
            let names = data.variants.iter().map(|variant| Case::Snake.of(&variant.ident));
            quote!(::mcp_sansio::typed::Rule::Enum(&[#(#names),*]))
        }
        _ => quote! {
            ::mcp_sansio::typed::Rule::Object(
                &const { ::mcp_sansio::typed::Object::new(&[], true) }
            )
        },
    }
}
