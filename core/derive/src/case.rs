//! Names of members and variants.

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::{LitStr, Result};

/// A convention for joining the words of a Rust name.
#[derive(Clone, Copy, Default)]
pub(crate) enum Case {
    #[default]
    Snake,
    Camel,
    Kebab,
}

impl Case {
    pub(crate) fn parse(name: &LitStr) -> Result<Self> {
        match name.value().as_str() {
            "snake_case" => Ok(Self::Snake),
            "camelCase" => Ok(Self::Camel),
            "kebab-case" => Ok(Self::Kebab),
            _ => Err(syn::Error::new(
                name.span(),
                "unknown case: write \"camelCase\", \"kebab-case\" or \"snake_case\"",
            )),
        }
    }

    /// Returns the name of a field or variant.
    pub(crate) fn of(self, ident: &Ident) -> String {
        let mut name = String::new();
        let mut starts_word = false;
        for c in ident.unraw().to_string().chars() {
            // Words of a field begin after `_`, those of a variant with a capital.
            if c == '_' || c.is_uppercase() {
                starts_word = !name.is_empty();
            }
            if c == '_' {
                continue;
            }
            match self {
                Self::Camel if starts_word => name.extend(c.to_uppercase()),
                _ => {
                    if starts_word {
                        name.push(if matches!(self, Self::Kebab) { '-' } else { '_' });
                    }
                    name.extend(c.to_lowercase());
                }
            }
            starts_word = false;
        }
        name
    }
}
