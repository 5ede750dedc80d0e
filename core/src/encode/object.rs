//! Objects: names paired with values, and the revisions that define them.

/// Writes an object.
///
/// ```text
/// object!(to, {
///     "type" = "text",                                   // a constant string
///     "text": self.text,                                 // required
///     "_meta"? since V2025_06_18: self.meta,             // an `Option`
///     "task"? only V2025_11_25: self.task,
/// })
/// ```
///
/// Without an encoder it is a value, for a member of another object.
///
/// `since`, `until` and `only` name the revisions that define the member; for others it is omitted.
macro_rules! object {
    ($to:ident, { $($members:tt)* }) => {{
        $to.begin_object();
        $crate::encode::object!(@member $to $($members)*);
        $to.end_object();
    }};

    ({ $($members:tt)* }) => {
        $crate::encode::With(|to: &mut $crate::encode::Encoder<'_>| {
            $crate::encode::object!(to, { $($members)* });
        })
    };

    (@member $to:ident) => {};
    (@member $to:ident $name:literal = $text:literal $(, $($rest:tt)*)?) => {
        $to.constant($name, concat!("\"", $name, "\":\"", $text, "\""));
        $($crate::encode::object!(@member $to $($rest)*);)?
    };
    (@member $to:ident $name:literal $($gate:ident $revision:ident)?:
        $value:expr $(, $($rest:tt)*)?
    ) => {
        if $crate::encode::object!(@gate $to $($gate $revision)?) {
            $to.member($name, &$value);
        }
        $($crate::encode::object!(@member $to $($rest)*);)?
    };
    (@member $to:ident $name:literal? $($gate:ident $revision:ident)?:
        $value:expr $(, $($rest:tt)*)?
    ) => {
        if let Some(value) = &$value
            && $crate::encode::object!(@gate $to $($gate $revision)?)
        {
            $to.member($name, value);
        }
        $($crate::encode::object!(@member $to $($rest)*);)?
    };

    (@gate $to:ident) => { true };
    (@gate $to:ident $gate:ident $revision:ident) => {
        $to.knows(const {
            $crate::encode::Gate::$gate($crate::lifecycle::Revision::$revision)
        })
    };
}

pub(crate) use object;
