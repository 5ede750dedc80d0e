//! Tells which code the build of the tests contains: that for Linux with all features.

use syn::{Attribute, Expr, Lit, Meta, Token, punctuated::Punctuated};

/// A build, as far as one differs from another.
#[derive(Clone, Copy)]
pub struct Build {
    /// The cfg `small` is set.
    pub small: bool,
}

impl Build {
    /// Returns whether code with these attributes is compiled. That for tests only is not mutated.
    pub fn has(self, attributes: &[Attribute]) -> bool {
        attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).all(|attribute| {
            attribute.parse_args::<Meta>().map_or(true, |condition| self.holds(&condition))
        })
    }

    /// Does the same for code that begins with its attribute.
    pub fn has_text(self, text: &str) -> bool {
        let condition = text.strip_prefix("#[cfg(").and_then(|rest| rest.split_once(")]"));
        condition
            .and_then(|(condition, _)| syn::parse_str::<Meta>(condition).ok())
            .is_none_or(|condition| self.holds(&condition))
    }

    /// Returns what a condition is in all of this build, if it is one of `cfg!`.
    pub fn decides(self, condition: &Expr) -> Option<bool> {
        match condition {
            Expr::Macro(call) if call.mac.path.is_ident("cfg") => {
                Some(self.holds(&call.mac.parse_body().ok()?))
            }
            Expr::Binary(both) if matches!(both.op, syn::BinOp::And(_)) => {
                self.decides(&both.left).filter(|holds| !holds)
            }
            _ => None,
        }
    }

    fn holds(self, condition: &Meta) -> bool {
        match condition {
            Meta::Path(name) if name.is_ident("small") => self.small,
            Meta::Path(name) => !["test", "windows", "docsrs"].iter().any(|no| name.is_ident(no)),
            Meta::NameValue(pair) => {
                let Expr::Lit(value) = &pair.value else { return true };
                let Lit::Str(value) = &value.lit else { return true };
                !["apple", "macos", "windows"].contains(&value.value().as_str())
            }
            Meta::List(list) => {
                let of = list
                    .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                    .unwrap_or_default();
                let mut of = of.iter();
                if list.path.is_ident("not") {
                    of.all(|of| !self.holds(of))
                } else if list.path.is_ident("any") {
                    of.any(|of| self.holds(of))
                } else {
                    of.all(|of| self.holds(of))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_for_all_features_on_linux() {
        let has = |text: &str| Build { small: false }.has_text(text);
        for compiled in [
            "f()",
            "#[cfg(unix)]",
            "#[cfg(not(small))] f()",
            r#"#[cfg(feature = "http")]"#,
            r#"#[cfg(any(windows, feature = "http"))]"#,
            r#"#[cfg(not(target_vendor = "apple"))]"#,
        ] {
            assert!(has(compiled), "{compiled}");
        }
        for other in [
            "#[cfg(small)] f()",
            "#[cfg(test)]",
            "#[cfg(all(test, unix))]",
            r#"#[cfg(not(feature = "http"))]"#,
            r#"#[cfg(not(all(feature = "http", feature = "smol")))]"#,
            r#"#[cfg(target_vendor = "apple")]"#,
        ] {
            assert!(!has(other), "{other}");
        }
        assert!(Build { small: true }.has_text("#[cfg(small)]"));
    }
}
