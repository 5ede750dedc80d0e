//! `#[derive(Tools)]`: an enum whose variants are tools.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Fields, Lifetime, LitStr, Result, Variant};

use crate::Target;
use crate::attributes::ToolOptions;
use crate::case::Case;

pub(crate) fn tools(item: &DeriveInput) -> Result<TokenStream> {
    let target = Target::new(item)?;
    let Data::Enum(data) = &item.data else {
        return Err(Error::new_spanned(&item.ident, "`Tools` is for enums: a variant is a tool"));
    };
    let mut code = Code::default();
    for variant in &data.variants {
        let options = ToolOptions::parse(&variant.attrs)?;
        match &options.flatten {
            Some(flatten) => code.flatten(variant, flatten, &target)?,
            None => code.tool(variant, &options, &target)?,
        }
    }
    if code.reads.is_empty() && code.flattened.is_empty() {
        return Err(Error::new_spanned(&item.ident, "an enum without variants has no tools"));
    }
    Ok(code.implementation(&target))
}

#[derive(Default)]
struct Code {
    /// Structs of variants with named fields.
    structs: TokenStream,
    /// Expressions of type `Tool`.
    tools: Vec<TokenStream>,
    /// Expressions of type `&Rule`.
    rules: Vec<TokenStream>,
    names: Vec<String>,
    /// Expressions that read the calls; `arguments` is their JSON.
    reads: Vec<TokenStream>,
    /// The flattened variants, and their types with `'static`.
    flattened: Vec<(Ident, TokenStream)>,
}

impl Code {
    fn tool(&mut self, variant: &Variant, options: &ToolOptions, target: &Target) -> Result<()> {
        let Variant { ident, fields, .. } = variant;
        if options.description.is_empty() {
            return Err(Error::new_spanned(
                ident,
                "a tool needs a description, by which a model knows what it does: write it above \
                 the variant, as in `/// Switches the lamp.`",
            ));
        }
        let name = tool_name(ident, options.name.as_ref())?;
        if self.names.contains(&name) {
            return Err(Error::new_spanned(ident, "two tools have the same name"));
        }
        let lifetime = &target.lifetime;
        let (arguments, make) = match fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let (arguments, _) = with_static(fields.unnamed[0].ty.to_token_stream(), lifetime);
                (arguments, quote!(Self::#ident))
            }
            Fields::Unnamed(fields) => {
                let message = "a tool has named arguments, or a struct that derives Input";
                return Err(Error::new_spanned(fields, message));
            }
            Fields::Named(_) | Fields::Unit => self.arguments(variant, lifetime),
        };
        let input = quote_spanned!(fields.span()=>
            <#arguments as ::mcp_sansio::typed::InputObject<'static>>
        );
        let description = &options.description;
        let title = options.title.iter();
        let hints = options.hints.iter().map(|(hint, value)| quote!(.#hint(#value)));
        let annotations = (!options.hints.is_empty())
            .then(|| quote!(.annotations(::mcp_sansio::types::ToolAnnotations::new()#(#hints)*)));
        let output = options.returns.iter().map(|ty| {
            quote_spanned!(ty.span()=>
                .output_schema(<#ty as ::mcp_sansio::typed::OutputObject>::SCHEMA)
            )
        });
        self.tools.push(quote! {
            ::mcp_sansio::types::Tool::new(#name, #input::SCHEMA)
                #(.title(#title))*
                .description(#description)
                #(#output)*
                #annotations
        });
        self.rules.push(quote!(
            &const { <#arguments as ::mcp_sansio::typed::Input<'static>>::RULE }
        ));
        self.names.push(name);
        self.reads.push(quote! {
            ::mcp_sansio::typed::InputObject::parse(arguments).map(#make)
        });
        Ok(())
    }

    /// Makes a struct of the fields. Returns it with `'static`, and what makes the variant of it.
    fn arguments(&mut self, variant: &Variant, lifetime: &Lifetime) -> (TokenStream, TokenStream) {
        let Variant { ident, fields, .. } = variant;
        let name = format_ident!("Arguments{ident}");
        let (_, has_lifetime) = with_static(fields.to_token_stream(), lifetime);
        let (own, fixed) = if has_lifetime {
            (quote!(#name<#lifetime>), quote!(#name<'static>))
        } else {
            (quote!(#name), quote!(#name))
        };
        let semicolon = matches!(fields, Fields::Unit).then(|| quote!(;));
        self.structs.extend(quote! {
            #[derive(::mcp_sansio::typed::Input)]
            struct #own #fields #semicolon
        });
        let members: Vec<_> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
        (fixed, quote!(|#name { #(#members),* }: #own| Self::#ident { #(#members),* }))
    }

    fn flatten(&mut self, variant: &Variant, flatten: &Ident, target: &Target) -> Result<()> {
        let Variant { ident, fields: Fields::Unnamed(fields), .. } = variant else {
            let message = "`flatten` is for a variant that holds another enum of tools";
            return Err(Error::new_spanned(flatten, message));
        };
        let Some(field) = fields.unnamed.first() else { return Ok(()) };
        let (fixed, _) = with_static(field.ty.to_token_stream(), &target.lifetime);
        self.flattened.push((ident.clone(), fixed));
        Ok(())
    }

    fn implementation(&self, target: &Target) -> TokenStream {
        let Self { structs, tools, rules, names, reads, .. } = self;
        let Target { lifetime, ty, ty_static, .. } = target;
        let count = reads.len();
        let flattened: Vec<_> = self
            .flattened
            .iter()
            .map(|(_, ty)| quote!(<#ty as ::mcp_sansio::typed::Tools<'static>>))
            .collect();
        // The last of all calls is read without a comparison: no place is behind it.
        let mut read = quote!();
        for ((ident, _), tools) in self.flattened.iter().zip(&flattened).rev() {
            let inner = quote! {
                ::mcp_sansio::typed::Tools::read(place, arguments).map(Self::#ident)
            };
            read = if read.is_empty() {
                inner
            } else {
                quote! {
                    if place < #tools::TOOLS.len() {
                        return #inner;
                    }
                    let place = place.wrapping_sub(#tools::TOOLS.len());
                    #read
                }
            };
        }
        let places = 0..count;
        read = match reads.split_last() {
            None => read,
            Some((last, reads)) if read.is_empty() => {
                quote!(match place { #(#places => #reads,)* _ => #last })
            }
            Some(_) => quote! {
                match place {
                    #(#places => return #reads,)*
                    _ => {}
                }
                let place = place.wrapping_sub(#count);
                #read
            },
        };
        quote! {
            #structs
            const OWN: &[::mcp_sansio::Entry<'static>] = ::mcp_sansio::entries![#(#tools),*];
            const TOOLS: &[&[::mcp_sansio::Entry<'static>]] = &[
                OWN,
                #(#flattened::TOOLS),*
            ];
            const RULES: &[&[&::mcp_sansio::typed::Rule]] = &[
                &[#(#rules),*],
                #(#flattened::RULES),*
            ];
            const HASHES: &[&[u32]] = &[
                &[#(::mcp_sansio::typed::hash(#names)),*],
                #(#flattened::HASHES),*
            ];
            const COUNT: usize =
                #count #(+ #flattened::TOOLS.len())*;
            const ALL_TOOLS: &[::mcp_sansio::Entry<'static>] =
                &::mcp_sansio::typed::join::<_, COUNT>(::mcp_sansio::Entry::EMPTY, TOOLS);
            const ALL_RULES: &[&::mcp_sansio::typed::Rule] =
                &::mcp_sansio::typed::join::<_, COUNT>(&::mcp_sansio::typed::Rule::Any, RULES);
            const ALL_HASHES: &[u32] = &::mcp_sansio::typed::join::<_, COUNT>(0, HASHES);
            const _: () = ::mcp_sansio::typed::assert_distinct(ALL_HASHES);

            #[automatically_derived]
            impl<#lifetime> ::mcp_sansio::typed::Tools<#lifetime> for #ty {
                const TOOLS: &'static [::mcp_sansio::Entry<'static>] = ALL_TOOLS;
                const RULES: &'static [&'static ::mcp_sansio::typed::Rule] = ALL_RULES;
                const HASHES: &'static [u32] = ALL_HASHES;
                fn read(
                    place: usize,
                    arguments: ::mcp_sansio::RawJson<#lifetime>,
                ) -> ::core::result::Result<Self, ::mcp_sansio::typed::Faults<#lifetime>> {
                    #read
                }
            }

            #[automatically_derived]
            impl ::mcp_sansio::typed::ToolSet for #ty_static {
                type Call<#lifetime> = #ty;
            }
        }
    }
}

fn tool_name(ident: &Ident, name: Option<&LitStr>) -> Result<String> {
    let text = name.map_or_else(|| Case::Snake.of(ident), LitStr::value);
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if (1..=128).contains(&text.len()) && text.bytes().all(is_valid) {
        return Ok(text);
    }
    let message = "the name of a tool has 1 to 128 letters of ASCII, digits, `_`, `-` and `.`";
    Err(Error::new(name.map_or(ident.span(), LitStr::span), message))
}

/// Replaces a lifetime by `'static`, and returns whether it was found.
fn with_static(tokens: TokenStream, lifetime: &Lifetime) -> (TokenStream, bool) {
    let (mut found, mut after_quote) = (false, false);
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let (inner, in_group) = with_static(group.stream(), lifetime);
            found |= in_group;
            let mut replaced = Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        TokenTree::Ident(ident) if after_quote && ident == lifetime.ident => {
            (found, after_quote) = (true, false);
            TokenTree::Ident(Ident::new("static", ident.span()))
        }
        token => {
            after_quote = matches!(&token, TokenTree::Punct(quote) if quote.as_char() == '\'');
            token
        }
    });
    (replaced.collect(), found)
}
