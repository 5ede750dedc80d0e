//! `#[derive(ToolCall)]`: a tool as its client sees it.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{DeriveInput, Error, LitStr, Result};

use crate::Target;
use crate::attributes::EntryOptions;
use crate::case::Case;
use crate::tools::{check_tool_name, with_lifetime};

pub(crate) fn tool_call(item: &DeriveInput, target: &Target) -> Result<TokenStream> {
    let Target { generics, ty, .. } = target;
    let EntryOptions { name, returns, .. } = EntryOptions::of_call(&item.attrs)?;
    let span = name.as_ref().map_or(item.ident.span(), LitStr::span);
    let name = name.map_or_else(|| Case::Snake.of(&item.ident), |name| name.value());
    check_tool_name(&name, span)?;
    let Some(returns) = returns else {
        let message = "the type of the result is missing: write `#[tool(returns = Type)]` above";
        return Err(Error::new_spanned(&item.ident, message));
    };
    let (returns, _) = with_lifetime(returns.to_token_stream(), "static", "mcp_sansio_output");
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::mcp_sansio::typed::ToolCall for #ty {
            const NAME: &'static str = #name;
            type Output<'mcp_sansio_output> = #returns;
        }
    })
}
