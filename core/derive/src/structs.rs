//! `#[derive(Input)]` on structs.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{DeriveInput, Error, Fields, Result};

use crate::Target;
use crate::attributes::TypeOptions;
use crate::members::{MemberCode, Members, Trait, docs};

pub(crate) fn input(item: &DeriveInput, fields: &Fields, target: &Target) -> Result<TokenStream> {
    let options = TypeOptions::parse(&item.attrs)?;
    match Contents::new(fields, &options, Trait::Input(&target.lifetime))? {
        Contents::Members(members) => Ok(object(&options, &members, target)),
        Contents::Newtype(member) => Ok(newtype(&options, &member, target)),
    }
}

/// Parts of a struct.
pub(crate) enum Contents<'f> {
    Members(Members),
    /// One field without a name.
    Newtype(Box<MemberCode<'f>>),
}

impl<'f> Contents<'f> {
    pub(crate) fn new(
        fields: &'f Fields,
        options: &TypeOptions,
        derived: Trait<'_>,
    ) -> Result<Self> {
        if let Some(tag) = &options.tag {
            return Err(Error::new(tag.span(), "`tag` is for enums"));
        }
        if let Some(untagged) = &options.untagged {
            return Err(Error::new(untagged.span(), "`untagged` is for enums"));
        }
        let is_arguments = matches!((derived, fields), (Trait::Input(_), Fields::Named(_)));
        if let (Some(schema), false) = (&options.schema, is_arguments) {
            return Err(Error::new_spanned(schema, "`schema` is for the arguments of a tool"));
        }
        match fields {
            Fields::Named(fields) => {
                let case = options.rename_all.unwrap_or_default();
                Members::new(&fields.named, case, derived).map(Self::Members)
            }
            Fields::Unit => Ok(Self::Members(Members::default())),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let member = MemberCode::new(&fields.unnamed[0], derived)?;
                let named = [&member.options.name, &member.options.header, &member.options.title];
                if let Some(named) = named.into_iter().flatten().next() {
                    return Err(Error::new(named.span(), "this option is for named fields"));
                }
                match &member.options.default {
                    Some(default) => {
                        Err(Error::new_spanned(default, "`default` is for named fields"))
                    }
                    None => Ok(Self::Newtype(Box::new(member))),
                }
            }
            Fields::Unnamed(fields) => Err(Error::new_spanned(
                fields,
                "a struct has named fields, or one field without a name",
            )),
        }
    }
}

/// Implements the traits for an object.
fn object(options: &TypeOptions, members: &Members, target: &Target) -> TokenStream {
    let Target { lifetime, ty, ty_static, .. } = target;
    let count = members.count;
    let object = members.object(options.open.is_some());
    let docs = docs(&options.description, None, Some(members.docs()), None);
    let build = members.build(&quote!(Self));
    let (schema, bytes) = match &options.schema {
        Some(schema) => (schema.to_token_stream(), None),
        None => (
            quote!(::mcp_sansio::internal::typed::schema(&__SCHEMA)),
            Some(quote! {
                const __SCHEMA_LEN: usize =
                    ::mcp_sansio::internal::typed::schema_len(&__RULE, &__DOCS, false);
                const __SCHEMA: [u8; __SCHEMA_LEN] =
                    ::mcp_sansio::internal::typed::schema_bytes(&__RULE, &__DOCS, false);
            }),
        ),
    };
    quote! {
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule = ::mcp_sansio::typed::Rule::Object(#object);
            const DOCS: ::mcp_sansio::typed::Docs = #docs;
            fn read(value: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                let mut members = [::mcp_sansio::RawJson::NULL; #count];
                ::mcp_sansio::internal::typed::find_members(
                    const { <Self as ::mcp_sansio::typed::Input<#lifetime>>::RULE.object() },
                    value,
                    &mut members,
                );
                #build
            }
        }
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::InputObject<#lifetime> for #ty {
            const SCHEMA: ::mcp_sansio::RawJson<'static> = #schema;
            const FORM: ::mcp_sansio::RawJson<'static> = ::mcp_sansio::internal::typed::schema(
                &const {
                    ::mcp_sansio::internal::typed::schema_bytes::<__FORM_LEN>(
                        &__RULE, &__DOCS, true,
                    )
                },
            );
            fn parse_as(
                is_form: bool,
                value: ::mcp_sansio::internal::Indexed<#lifetime>,
            ) -> ::core::result::Result<Self, ::mcp_sansio::typed::Faults<#lifetime>> {
                let mut members = [::mcp_sansio::RawJson::NULL; #count];
                ::mcp_sansio::internal::typed::check_members(
                    &const { <Self as ::mcp_sansio::typed::Input<#lifetime>>::RULE },
                    value,
                    &mut members,
                    is_form,
                )?;
                ::core::result::Result::Ok(#build)
            }
        }
        const __RULE: ::mcp_sansio::typed::Rule =
            <#ty_static as ::mcp_sansio::typed::Input<'static>>::RULE;
        const __DOCS: ::mcp_sansio::typed::Docs =
            <#ty_static as ::mcp_sansio::typed::Input<'static>>::DOCS;
        #bytes
        const __FORM_LEN: usize =
            ::mcp_sansio::internal::typed::schema_len(&__RULE, &__DOCS, true);
    }
}

/// Implements `Input` for a type that is written as its only field, with the restrictions of that.
fn newtype(options: &TypeOptions, member: &MemberCode<'_>, target: &Target) -> TokenStream {
    let Target { lifetime, ty, ty_static, .. } = target;
    let MemberCode { rule, of_type, .. } = member;
    let docs = docs(&options.description, None, None, Some(&member.docs));
    let read = member.read(quote!(value));
    quote! {
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule = #rule;
            const DOCS: ::mcp_sansio::typed::Docs = #docs;
            const OPTIONAL: bool = #of_type::OPTIONAL;
            fn read(value: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                Self(#read)
            }
        }
        const _: ::mcp_sansio::typed::Rule =
            <#ty_static as ::mcp_sansio::typed::Input<'static>>::RULE;
    }
}
