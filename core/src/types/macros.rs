//! How a payload type is written down: its fields once, with their names on the wire and the revisions that know them.
//!
//! `payload!` makes the struct, a `const fn new` of what is required, a `const fn` setter (named like the field) for all else, and both
//! directions of serde. A field's kind says what it holds and what the constructor takes:
//!
//! | kind | field | argument |
//! | --- | --- | --- |
//! | `text` | `Text<'a>` | `&'a str` |
//! | `version` | `Text<'a>` | `Revision` |
//! | `versions` | `SupportedVersions<'a>` | `Revisions` |
//! | `list(T)` | `List<'a, T>` | `&'a [T]` |
//! | `object` | `RawJson<'a>`, an object | the same |
//! | `any` | `RawJson<'a>`, `null` included | the same |
//! | `millis` | `u64`, negative ones read as 0 | the same |
//! | `of(T)` | `T` | the same |
//!
//! Behind it: `= value` is what `new` sets an optional field to and what is read where a required one is missing; `in CE` names the revisions
//! that know the field; `via f` names a function from a reference to the `Value` that is written.

macro_rules! payload {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$lt:lifetime>)? {
            $(tag $tkey:literal = $tag:literal;)?
            new {$(
                $(#[$rmeta:meta])*
                $rkey:literal $rname:ident: $rkind:ident $(($rty:ty))? $(= $rdefault:expr)? $(, in $rgate:ident)? $(, via $rvia:path)?;
            )*}
            $(with {$(
                $(#[$ometa:meta])*
                $okey:literal $oname:ident: $okind:ident $(($oty:ty))? $(= $oinit:expr)? $(, in $ogate:ident)? $(, via $ovia:path)?;
            )*})?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        $vis struct $name $(<$lt>)? {
            $($(#[$rmeta])* $vis $rname: payload!(@type $rkind $(($rty))?),)*
            $($($(#[$ometa])* $vis $oname: Option<payload!(@type $okind $(($oty))?)>,)*)?
        }

        // Types that only read for another one are not built.
        #[allow(dead_code, clippy::new_without_default)]
        impl $(<$lt>)? $name $(<$lt>)? {
            /// With what is required; all else is left out.
            #[must_use]
            $vis const fn new($($rname: payload!(@argument $rkind $(($rty))?)),*) -> Self {
                Self {
                    $($rname: payload!(@value $rkind $rname),)*
                    $($($oname: payload!(@initial $($oinit)?),)*)?
                }
            }

            $($(
                $(#[$ometa])*
                #[must_use]
                $vis const fn $oname(mut self, $oname: payload!(@argument $okind $(($oty))?)) -> Self {
                    self.$oname = Some(payload!(@value $okind $oname));
                    self
                }
            )*)?
        }

        impl $(<$lt>)? super::value::Object for $name $(<$lt>)? {
            fn keys(&self) -> &'static str {
                concat!(
                    $($tkey, " ",)?
                    $($rkey, $(":", stringify!($rgate),)? " ",)*
                    $($($okey, $(":", stringify!($ogate),)? " ",)*)?
                )
            }

            #[allow(unused_assignments, unused_imports, unused_mut, unused_variables)]
            fn field(&self, index: usize) -> super::value::Value<'_> {
                use super::value::Payload as _;
                // Counting down, since a macro cannot number its fields. The compiler makes one jump of it.
                let mut left = index;
                $(
                    if left == 0 {
                        return super::value::Value::Text(super::Text::new($tag));
                    }
                    left = left.wrapping_sub(1);
                )?
                $(
                    if left == 0 {
                        return payload!(@written &self.$rname $(, $rvia)?);
                    }
                    left = left.wrapping_sub(1);
                )*
                $($(
                    if left == 0 {
                        return match &self.$oname {
                            Some(value) => payload!(@written value $(, $ovia)?),
                            None => super::value::Value::Absent,
                        };
                    }
                    left = left.wrapping_sub(1);
                )*)?
                super::value::Value::Absent
            }
        }

        impl<'a> super::value::Payload<'a> for $name $(<$lt>)? {
            fn value(&self) -> super::value::Value<'_> {
                super::value::Value::Object(self)
            }

            fn read(raw: crate::json::RawJson<'a>) -> Result<Self, crate::json::ReadError> {
                $(let mut $rname: Option<payload!(@type $rkind $(($rty))?)> = None;)*
                $($(let mut $oname: Option<payload!(@type $okind $(($oty))?)> = None;)*)?
                super::read::object(raw, payload!(@tag $($tkey, $tag)?), &mut [
                    $(super::read::Slot::new($rkey, payload!(@how $rkind required), &mut $rname),)*
                    $($(super::read::Slot::new($okey, payload!(@how $okind optional), payload!(@slot $okind $oname)),)*)?
                ])?;
                Ok(Self {
                    $($rname: payload!(@required $rname, $rkey $(, $rdefault)?),)*
                    $($($oname,)*)?
                })
            }
        }

        super::macros::with_serde! { $name $(<$lt>)? }
    };

    (@type text) => { super::Text<'a> };
    (@type version) => { super::Text<'a> };
    (@type versions) => { super::SupportedVersions<'a> };
    (@type list ($ty:ty)) => { super::List<'a, $ty> };
    (@type object) => { crate::json::RawJson<'a> };
    (@type any) => { crate::json::RawJson<'a> };
    (@type millis) => { u64 };
    (@type of ($ty:ty)) => { $ty };

    (@argument text) => { &'a str };
    (@argument version) => { crate::lifecycle::Revision };
    (@argument versions) => { crate::lifecycle::Revisions };
    (@argument list ($ty:ty)) => { &'a [$ty] };
    (@argument $kind:ident $(($ty:ty))?) => { payload!(@type $kind $(($ty))?) };

    (@value text $value:ident) => { super::Text::new($value) };
    (@value versions $value:ident) => { super::SupportedVersions::new($value) };
    (@value version $value:ident) => { super::Text::new($value.as_str()) };
    (@value list $value:ident) => { super::List::new($value) };
    (@value $kind:ident $value:ident) => { $value };

    (@initial) => { None };
    (@initial $value:expr) => { Some($value) };

    (@written $value:expr) => { $value.value() };
    (@written $value:expr, $via:path) => { $via($value) };

    (@tag) => { None };
    (@tag $key:literal, $tag:literal) => { Some(($key, $tag)) };

    (@how object required) => { super::read::How::Object };
    (@how object optional) => { super::read::How::OptionalObject };
    (@how any $how:ident) => { super::read::How::Given };
    (@how $kind:ident required) => { super::read::How::Given };
    (@how $kind:ident optional) => { super::read::How::Optional };

    (@slot millis $slot:ident) => { &mut super::read::Millis(&mut $slot) };
    (@slot $kind:ident $slot:ident) => { &mut $slot };

    (@required $slot:ident, $key:literal) => {
        match $slot {
            Some(value) => value,
            None => return Err(crate::json::ReadError::missing($key)),
        }
    };
    (@required $slot:ident, $key:literal, $default:expr) => { $slot.unwrap_or($default) };
}

/// A closed set of strings.
macro_rules! names {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            /// As it is written on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// The one with this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The same for a string as it came off the wire.
            #[must_use]
            pub fn from_json(name: crate::json::JsonStr<'_>) -> Option<Self> {
                let mut decoded = [0; 16];
                name.copy_to(&mut decoded).and_then(Self::parse)
            }
        }

        impl<'a> super::value::Payload<'a> for $name {
            fn value(&self) -> super::value::Value<'_> {
                super::value::Value::Text(super::Text::new(self.as_str()))
            }

            fn read(raw: crate::json::RawJson<'a>) -> Result<Self, crate::json::ReadError> {
                let wrong = crate::json::ReadError::wrong(concat!("a ", stringify!($name)));
                raw.as_string().and_then(Self::from_json).ok_or(wrong)
            }
        }

        super::macros::with_serde! { $name }
    };
}

/// serde's traits for a `Payload`.
macro_rules! with_serde {
    ($name:ident $(<$lt:lifetime>)?) => {
        impl $(<$lt>)? serde::Serialize for $name $(<$lt>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                super::value::Payload::value(self).serialize(serializer)
            }
        }

        impl<'de $(: $lt, $lt)?> serde::Deserialize<'de> for $name $(<$lt>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                super::value::Payload::read(crate::json::RawJson::deserialize(deserializer)?).map_err(crate::json::ReadError::cast)
            }
        }
    };
}

pub(super) use {names, payload, with_serde};
