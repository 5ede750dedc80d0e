//! `#[derive(Tools)]` and `#[derive(Prompts)]`: an enum whose variants are tools, or prompts.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Lifetime, LitStr, Result, Variant};

use crate::Target;
use crate::attributes::{EntryOptions, refuse};
use crate::case::Case;
use crate::enums::only_type;

pub(crate) fn expand(item: &DeriveInput, kind: Kind, target: &Target) -> TokenStream {
    let mut code = Code { kind, ..Code::default() };
    let message = match (&item.data, kind) {
        (Data::Enum(data), _) if data.variants.is_empty() => {
            Some("an enum without variants offers nothing")
        }
        (Data::Enum(data), _) => {
            let misplaced = refuse(&item.attrs, &["tool", "prompt", "arg"]).err();
            code.structs.extend(misplaced.map(Error::into_compile_error));
            for variant in &data.variants {
                if let Err(error) = code.variant(variant, target) {
                    code.structs.extend(error.into_compile_error());
                }
            }
            None
        }
        (_, Kind::Tools) => Some("`Tools` is for enums: a variant is a tool"),
        (_, Kind::Prompts) => Some("`Prompts` is for enums: a variant is a prompt"),
    };
    let error = message.map(|message| Error::new_spanned(&item.ident, message));
    code.structs.extend(error.map(Error::into_compile_error));
    code.implementation(target)
}

/// The trait that is derived.
#[derive(Clone, Copy, Default)]
pub(crate) enum Kind {
    #[default]
    Tools,
    Prompts,
}

#[derive(Default)]
struct Code {
    kind: Kind,
    /// Structs of variants with named fields, and errors. The rest is implemented beside these.
    structs: TokenStream,
    /// Expressions of type `Tool` or `Prompt`.
    entries: Vec<TokenStream>,
    /// Expressions of type `&Rule`.
    rules: Vec<TokenStream>,
    names: Vec<String>,
    /// Expressions that read the calls; `arguments` is their JSON.
    reads: Vec<TokenStream>,
    /// The flattened variants, and their types with `'static`.
    flattened: Vec<(Ident, TokenStream)>,
}

impl Code {
    fn variant(&mut self, variant: &Variant, target: &Target) -> Result<()> {
        let options = match self.kind {
            Kind::Tools => EntryOptions::of_tool(&variant.attrs)?,
            Kind::Prompts => EntryOptions::of_prompt(&variant.attrs)?,
        };
        match &options.flatten {
            Some(flatten) => self.flatten(variant, flatten, &options, target),
            None => self.entry(variant, &options, target),
        }
    }

    fn entry(&mut self, variant: &Variant, options: &EntryOptions, target: &Target) -> Result<()> {
        let Variant { ident, fields, .. } = variant;
        let name = options.name.as_ref().map_or_else(|| Case::Snake.of(ident), LitStr::value);
        if matches!(self.kind, Kind::Tools) {
            if options.description.is_empty() {
                return Err(Error::new_spanned(
                    ident,
                    "a tool needs a description, by which a model knows what it does: write it \
                     above the variant, as in `/// Switches the lamp.`",
                ));
            }
            check_tool_name(&name, options.name.as_ref().map_or(ident.span(), LitStr::span))?;
        }
        if self.names.contains(&name) {
            let message = match self.kind {
                Kind::Tools => "two tools have the same name",
                Kind::Prompts => "two prompts have the same name",
            };
            return Err(Error::new_spanned(ident, message));
        }
        let lifetime = &target.lifetime;
        let (arguments, make) = match fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                refuse(&fields.unnamed[0].attrs, &["arg"])?;
                let (arguments, _) = with_static(fields.unnamed[0].ty.to_token_stream(), lifetime);
                (arguments, quote!(Self::#ident))
            }
            Fields::Unnamed(fields) => {
                let message = "named arguments, or a struct that derives Input";
                return Err(Error::new_spanned(fields, message));
            }
            Fields::Named(_) | Fields::Unit => self.arguments(variant, lifetime),
        };
        self.entries.push(match self.kind {
            Kind::Tools => tool(&name, options, fields, &arguments),
            Kind::Prompts => prompt(&name, options, fields, &arguments),
        });
        self.rules.push(quote!(
            &const { <#arguments as ::mcp_sansio::typed::Input<'static>>::RULE }
        ));
        self.names.push(name);
        self.reads.push(quote! {
            ::mcp_sansio::typed::InputObject::parse_as(false, arguments).map(#make)
        });
        Ok(())
    }

    /// Makes a struct of the fields, with the attributes that `Input` reads: others are of other
    /// derives. Returns it with `'static`, and what makes the variant of it.
    fn arguments(&mut self, variant: &Variant, lifetime: &Lifetime) -> (TokenStream, TokenStream) {
        let Variant { ident, fields, .. } = variant;
        let name = format_ident!("__Arguments{ident}");
        let (_, has_lifetime) = with_static(fields.to_token_stream(), lifetime);
        let (own, fixed) = if has_lifetime {
            (quote!(#name<#lifetime>), quote!(#name<'static>))
        } else {
            (quote!(#name), quote!(#name))
        };
        let is_read = |of: &&Attribute| of.path().is_ident("doc") || of.path().is_ident("arg");
        let own_fields = fields.iter().map(|Field { attrs, ident, ty, .. }| {
            let attributes = attrs.iter().filter(is_read);
            quote!(#(#attributes)* #ident: #ty)
        });
        self.structs.extend(quote! {
            #[derive(::mcp_sansio::typed::Input)]
            struct #own { #(#own_fields),* }
        });
        let members: Vec<_> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
        (fixed, quote!(|#name { #(#members),* }: #own| Self::#ident { #(#members),* }))
    }

    fn flatten(
        &mut self,
        variant: &Variant,
        flatten: &Ident,
        options: &EntryOptions,
        target: &Target,
    ) -> Result<()> {
        if options.describes_entry() {
            let message = "`flatten` stands alone: write the other options on the variants of the \
                           enum that this one holds";
            return Err(Error::new_spanned(flatten, message));
        }
        if let Fields::Unnamed(fields) = &variant.fields
            && let Some(ty) = only_type(fields)?
        {
            let ty = with_static(ty.to_token_stream(), &target.lifetime).0;
            self.flattened.push((variant.ident.clone(), ty));
            return Ok(());
        }
        let message = "`flatten` is for a variant that holds another such enum";
        Err(Error::new_spanned(flatten, message))
    }

    fn implementation(&self, target: &Target) -> TokenStream {
        let Self { structs, entries, rules, names, reads, .. } = self;
        let Target { lifetime, ty, ty_static, .. } = target;
        let count = reads.len();
        let (of, list) = match self.kind {
            Kind::Tools => (quote!(::mcp_sansio::typed::Tools), quote!(TOOLS)),
            Kind::Prompts => (quote!(::mcp_sansio::typed::Prompts), quote!(PROMPTS)),
        };
        let inner = |of: &TokenStream| -> Vec<_> {
            self.flattened.iter().map(|(_, ty)| quote!(<#ty as #of<'static>>)).collect()
        };
        let read_at = quote!(::mcp_sansio::internal::typed::ReadAt);
        let (flattened, flattened_read) = (inner(&of), inner(&read_at));
        // The last of all calls is read without a comparison: no place is behind it.
        let mut read = quote!();
        for ((ident, _), inner_type) in self.flattened.iter().zip(&flattened).rev() {
            let inner = quote!(#read_at::read(place, arguments).map(Self::#ident));
            read = if read.is_empty() {
                inner
            } else {
                quote! {
                    if place < #inner_type::#list.len() {
                        return #inner;
                    }
                    let place = place.wrapping_sub(#inner_type::#list.len());
                    #read
                }
            };
        }
        let places = 0..count;
        read = match reads.split_last() {
            // An error stands in the place of all variants.
            None if read.is_empty() => quote!(loop {}),
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
        let tool_set = matches!(self.kind, Kind::Tools).then(|| {
            quote! {
                #[automatically_derived]
                impl ::mcp_sansio::typed::ToolSet for #ty_static {
                    type Call<#lifetime> = #ty;
                }
            }
        });
        quote! {
            #structs
            const __OWN: &[::mcp_sansio::Entry<'static>] = ::mcp_sansio::entries![#(#entries),*];
            const __ENTRIES: &[&[::mcp_sansio::Entry<'static>]] = &[
                __OWN,
                #(#flattened::#list),*
            ];
            const __RULES: &[&[&::mcp_sansio::typed::Rule]] = &[
                &[#(#rules),*],
                #(#flattened_read::RULES),*
            ];
            const __HASHES: &[&[u32]] = &[
                &[#(::mcp_sansio::internal::typed::hash(#names)),*],
                #(#flattened_read::HASHES),*
            ];
            const __COUNT: usize =
                #count #(+ #flattened::#list.len())*;
            // A static has one address, by which a tool that the catalog found is known again.
            static __ALL_ENTRIES: [::mcp_sansio::Entry<'static>; __COUNT] =
                ::mcp_sansio::internal::entries::join::<__COUNT>(__ENTRIES);
            const __ANY: &::mcp_sansio::typed::Rule = &::mcp_sansio::typed::Rule::Any;
            const __ALL_RULES: &[&::mcp_sansio::typed::Rule] =
                &::mcp_sansio::internal::typed::join::<_, __COUNT>(__ANY, __RULES);
            const __ALL_HASHES: &[u32] =
                &::mcp_sansio::internal::typed::join::<_, __COUNT>(0, __HASHES);
            const _: () = ::mcp_sansio::internal::typed::assert_distinct(__ALL_HASHES);

            #[automatically_derived]
            impl<#lifetime> #of<#lifetime> for #ty {
                const #list: &'static [::mcp_sansio::Entry<'static>] = &__ALL_ENTRIES;
            }

            #[automatically_derived]
            impl<#lifetime> #read_at<#lifetime> for #ty {
                const RULES: &'static [&'static ::mcp_sansio::typed::Rule] = __ALL_RULES;
                const HASHES: &'static [u32] = __ALL_HASHES;
                fn read(
                    place: usize,
                    arguments: ::mcp_sansio::internal::Indexed<#lifetime>,
                ) -> ::core::result::Result<Self, ::mcp_sansio::typed::Faults<#lifetime>> {
                    #read
                }
            }

            #tool_set
        }
    }
}

/// Returns an expression of type `Tool`.
fn tool(
    name: &str,
    options: &EntryOptions,
    fields: &Fields,
    arguments: &TokenStream,
) -> TokenStream {
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
    let meta = options.ui.iter().map(|ui| {
        quote_spanned!(ui.span()=> .meta(::mcp_sansio::ui_meta!({
            const __UI: ::mcp_sansio::types::ui::ToolMeta<'static> = #ui;
            __UI
        })))
    });
    let scopes = options.scopes.iter();
    let execution = options.task.iter().map(|support| {
        quote!(.execution(::mcp_sansio::types::ToolExecution::new()
            .task_support(::mcp_sansio::types::TaskSupport::#support)))
    });
    quote! {
        ::mcp_sansio::types::Tool::new(#name, #input::SCHEMA)
            #(.title(#title))*
            .description(#description)
            #(#output)*
            #annotations
            #(#execution)*
            #(#meta)*
            #(.scopes(#scopes))*
    }
}

/// Returns an expression of type `Prompt`.
fn prompt(
    name: &str,
    options: &EntryOptions,
    fields: &Fields,
    arguments: &TokenStream,
) -> TokenStream {
    let description = Some(&options.description).filter(|text| !text.is_empty()).into_iter();
    let title = options.title.iter();
    let prompt = quote! {
        ::mcp_sansio::types::Prompt::new(#name)
            #(.title(#title))*
            #(.description(#description))*
    };
    let input = quote!(<#arguments as ::mcp_sansio::typed::Input<'static>>);
    let count = quote!(::mcp_sansio::internal::typed::count_members(&#input::RULE));
    let arguments = quote_spanned!(fields.span()=>
        ::mcp_sansio::internal::typed::prompt_arguments::<{ #count }>(&#input::RULE, &#input::DOCS)
    );
    let scopes = options.scopes.iter();
    let prompt = quote!(::mcp_sansio::internal::typed::prompt(#prompt, &const { #arguments }));
    quote!(#prompt #(.scopes(#scopes))*)
}

pub(crate) fn check_tool_name(name: &str, span: Span) -> Result<()> {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if (1..=128).contains(&name.len()) && name.bytes().all(is_valid) {
        return Ok(());
    }
    let message = "the name of a tool has 1 to 128 letters of ASCII, digits, `_`, `-` and `.`";
    Err(Error::new(span, message))
}

/// Replaces a lifetime by `'static`, and returns whether it was found.
fn with_static(tokens: TokenStream, lifetime: &Lifetime) -> (TokenStream, bool) {
    with_lifetime(tokens, &lifetime.ident.to_string(), "static")
}

/// Replaces a lifetime by another one, and returns whether it was found.
pub(crate) fn with_lifetime(tokens: TokenStream, from: &str, to: &str) -> (TokenStream, bool) {
    let (mut found, mut after_quote) = (false, false);
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let (inner, in_group) = with_lifetime(group.stream(), from, to);
            found |= in_group;
            let mut replaced = Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        TokenTree::Ident(ident) if after_quote && ident == from => {
            (found, after_quote) = (true, false);
            TokenTree::Ident(Ident::new(to, ident.span()))
        }
        token => {
            after_quote = matches!(&token, TokenTree::Punct(quote) if quote.as_char() == '\'');
            token
        }
    });
    (replaced.collect(), found)
}
