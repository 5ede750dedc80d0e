//! `#[derive(Input)]` on enums: one of several strings, or one of several objects; what
//! `#[derive(Output)]` shares with it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DataEnum, DeriveInput, Error, Fields, FieldsUnnamed, LitStr, Result, Type};

use crate::Target;
use crate::attributes::{TypeOptions, VariantOptions, refuse};
use crate::members::{Members, Trait, docs};

pub(crate) fn input(item: &DeriveInput, data: &DataEnum, target: &Target) -> Result<TokenStream> {
    let options = TypeOptions::parse(&item.attrs)?;
    if let Some(schema) = &options.schema {
        return Err(Error::new_spanned(schema, "`schema` is for the arguments of a tool"));
    }
    let variants = variants(item, data, &options)?;
    match &options.tag {
        Some(tag) => tagged(&options, tag, &variants, target),
        None => strings(&options, &variants, target),
    }
}

pub(crate) struct Variant<'v> {
    pub(crate) variant: &'v syn::Variant,
    pub(crate) options: VariantOptions,
    pub(crate) name: String,
}

pub(crate) fn variants<'v>(
    item: &'v DeriveInput,
    data: &'v DataEnum,
    options: &TypeOptions,
) -> Result<Vec<Variant<'v>>> {
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
    Ok(variants)
}

/// Checks an enum of names.
pub(crate) fn check_names(options: &TypeOptions, variants: &[Variant<'_>]) -> Result<()> {
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
    match &options.open {
        Some(open) => Err(Error::new(open.span(), "`open` is for objects")),
        None => Ok(()),
    }
}

/// Implements `Input` for an enum of names.
fn strings(
    options: &TypeOptions,
    variants: &[Variant<'_>],
    target: &Target,
) -> Result<TokenStream> {
    check_names(options, variants)?;
    let Target { lifetime, ty, .. } = target;
    let names = variants.iter().map(|variant| &variant.name);
    let is_titled = variants.iter().any(|variant| variant.options.title.is_some());
    let titles = variants.iter().filter(|_| is_titled).map(|Variant { options, name, .. }| {
        let title = options.title.as_ref().map_or_else(|| name.clone(), LitStr::value);
        quote!(::mcp_sansio::typed::Docs { title: #title, ..::mcp_sansio::typed::Docs::NONE })
    });
    let titles = quote!(&const { [#(#titles),*] });
    let docs = docs(&options.description, None, Some(titles), None);
    let arms = arms(variants.iter().map(|Variant { variant, .. }| {
        let ident = &variant.ident;
        quote!(Self::#ident)
    }));
    Ok(quote! {
        const __NAMES: &[&str] = &[#(#names),*];
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule = ::mcp_sansio::typed::Rule::Enum(__NAMES);
            const DOCS: ::mcp_sansio::typed::Docs = #docs;
            fn read(value: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                match ::mcp_sansio::internal::typed::find_name(__NAMES, value) { #(#arms)* }
            }
        }
    })
}

/// Code for an enum of objects.
pub(crate) struct Objects {
    /// An expression of type `Rule`.
    pub(crate) rule: TokenStream,
    /// An expression of type `Docs`.
    pub(crate) docs: TokenStream,
    /// The members of each variant, or the one type that has them.
    pub(crate) contents: Vec<Contents>,
}

pub(crate) enum Contents {
    /// Fields of the variant.
    Members(Members),
    /// A struct, as the trait.
    Struct(TokenStream),
}

impl Objects {
    pub(crate) fn new(
        options: &TypeOptions,
        tag: &LitStr,
        variants: &[Variant<'_>],
        derived: Trait<'_>,
    ) -> Result<Self> {
        let (mut objects, mut of_variants, mut contents) = (vec![], vec![], vec![]);
        for Variant { variant, options: own, .. } in variants {
            let (description, title) = (&own.description, own.title.as_ref());
            let members = match &variant.fields {
                Fields::Named(fields) => {
                    Members::new(&fields.named, options.rename_all.unwrap_or_default(), derived)?
                }
                Fields::Unit => Members::default(),
                Fields::Unnamed(fields) => {
                    let Some(inner) = only_type(fields)? else {
                        let message = "a variant of an object has named fields, or one struct";
                        return Err(Error::new_spanned(fields, message));
                    };
                    let of_type = derived.of(inner);
                    objects.push(quote_spanned!(inner.span()=>
                        ::mcp_sansio::typed::Rule::object(#of_type::RULE)
                    ));
                    of_variants.push(docs(description, title, None, Some(&quote!(#of_type::DOCS))));
                    contents.push(Contents::Struct(of_type));
                    continue;
                }
            };
            objects.push(members.object(options.open.is_some()));
            of_variants.push(docs(description, title, Some(members.docs()), None));
            contents.push(Contents::Members(members));
        }
        let names = variants.iter().map(|variant| &variant.name);
        let rule = quote! {
            ::mcp_sansio::typed::Rule::OneOf(&const {
                ::mcp_sansio::typed::OneOf::new(
                    #tag,
                    &[#(#names),*],
                    &const { [#(#objects),*] },
                )
            })
        };
        let of_variants = quote!(&const { [#(#of_variants),*] });
        let docs = docs(&options.description, None, Some(of_variants), None);
        Ok(Self { rule, docs, contents })
    }
}

/// Returns the type of the only field, for which no options are known.
pub(crate) fn only_type(fields: &FieldsUnnamed) -> Result<Option<&Type>> {
    let mut all = fields.unnamed.iter();
    let (Some(field), None) = (all.next(), all.next()) else { return Ok(None) };
    refuse(&field.attrs, &["input", "output", "tool", "prompt", "arg"])?;
    Ok(Some(&field.ty))
}

/// Implements `Input` for an enum of objects.
fn tagged(
    options: &TypeOptions,
    tag: &LitStr,
    variants: &[Variant<'_>],
    target: &Target,
) -> Result<TokenStream> {
    let Target { lifetime, ty, ty_static, .. } = target;
    let Objects { rule, docs, contents } =
        Objects::new(options, tag, variants, Trait::Input(lifetime))?;
    let (mut values, mut count) = (vec![], 0);
    for (Variant { variant, .. }, contents) in variants.iter().zip(&contents) {
        let ident = &variant.ident;
        values.push(match contents {
            Contents::Members(members) => {
                count = count.max(members.count);
                members.build(&quote!(Self::#ident))
            }
            Contents::Struct(of_type) => quote!(Self::#ident(#of_type::read(value))),
        });
    }
    let arms = arms(values.into_iter());
    Ok(quote! {
        #[automatically_derived]
        impl<#lifetime> ::mcp_sansio::typed::Input<#lifetime> for #ty {
            const RULE: ::mcp_sansio::typed::Rule = #rule;
            const DOCS: ::mcp_sansio::typed::Docs = #docs;
            fn read(value: ::mcp_sansio::RawJson<#lifetime>) -> Self {
                let mut members = [::mcp_sansio::RawJson::NULL; #count];
                match ::mcp_sansio::internal::typed::find_variant(
                    &const { <Self as ::mcp_sansio::typed::Input<#lifetime>>::RULE },
                    value,
                    &mut members,
                ) {
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
