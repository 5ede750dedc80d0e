//! Name and version of a client or server.

use crate::encode::{Encode, Encoder, object};
use crate::types::macros::{Writer, payload};

payload! {
    /// Name and version of a client or server. Schema type `Implementation`.
    pub struct Implementation<'a> {
        new {
            /// Name for programmatic use.
            "name" name: text;
            /// Version of the program.
            "version" version: text;
        }
        with {
            /// Display name for user interfaces. Since 2025-06-18.
            "title" title: text, since V2025_06_18;
            /// Description of what the program does. Since 2025-11-25.
            "description" description: text, since V2025_11_25;
            /// Icons for user interfaces. Since 2025-11-25.
            "icons" icons: icons, since V2025_11_25;
            /// URL of the website of the program. Since 2025-11-25.
            "websiteUrl" website_url: text, since V2025_11_25;
        }
    }
}

/// The [`Implementation`] of a configuration, with the code that writes it. While a constant is
/// compiled it is known whether that includes the code for icons and other rare members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info<'a> {
    pub(crate) value: Implementation<'a>,
    writer: Writer<fn(&Implementation<'_>, &mut Encoder<'_>)>,
}

impl<'a> Info<'a> {
    pub(crate) const fn new(value: Implementation<'a>) -> Self {
        let Implementation { name: _, version: _, title: _, description, icons, website_url } =
            value;
        let is_short = description.is_none() && icons.is_none() && website_url.is_none();
        let writer: fn(&Implementation<'_>, &mut Encoder<'_>) =
            if is_short { write_short } else { |info, to| info.encode(to) };
        Self { value, writer: Writer(writer) }
    }
}

fn write_short(info: &Implementation<'_>, to: &mut Encoder<'_>) {
    object!(to, {
        "name": info.name,
        "version": info.version,
        "title"? since V2025_06_18: info.title,
    });
}

impl Encode for Info<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (self.writer.0)(&self.value, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::to_slice;
    use crate::lifecycle::Revision;
    use crate::types::Icon;

    #[test]
    fn the_info_of_a_configuration_has_all_members() {
        let plain = Implementation::new("n", "1");
        for value in [
            plain,
            plain.title("t"),
            plain.description("d"),
            plain.icons(&[Icon::new("https://example.com/i")]),
            plain.website_url("https://example.com"),
            plain.title("t").description("d"),
        ] {
            for revision in [Revision::V2024_11_05, Revision::V2025_06_18, Revision::LATEST] {
                let (mut own, mut all) = ([0; 128], [0; 128]);
                let own = to_slice(&Info::new(value), revision, &mut own).expect("it fits");
                let all = to_slice(&value, revision, &mut all).expect("it fits");
                assert_eq!(own.as_str(), all.as_str());
            }
        }
    }
}
