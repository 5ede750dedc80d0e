//! Declaration of payload types: each field with its name on the wire and the revisions that
//! define it.
//!
//! `payload!` generates the struct, a `const fn new` with the required fields, a `const fn` setter
//! for each field below `optional:`, [`Encode`](crate::Encode) and `Deserialize`. The kind of a
//! field determines its type and the argument of its setter:
//!
//! | kind | field | argument |
//! | --- | --- | --- |
//! | `text` | `Text<'a>` | `&'a str` |
//! | `version` | `Text<'a>` | `Revision` |
//! | `versions` | `SupportedVersions<'a>` | `Revisions` |
//! | `list(T)` | `List<'a, T>` | `&'a [T]` |
//! | `icons` | `Icons<'a>` | `&'a [Icon<'a>]` |
//! | `object` | `RawJson<'a>`, an object | the same |
//! | `any` | `RawJson<'a>`, `null` included | the same |
//! | `millis` | `u64`, negative ones read as 0 | the same |
//! | `of(T)` | `T` | the same |
//!
//! Options after the kind: `= value` is the value that `new` sets for an optional field, and the
//! value of a missing required field; `=> via W` wraps a reference to the value while it is
//! written; `=> when f` omits the field for revisions that are not in the `Gate` that `f(&value)`
//! returns; `since`, `until` and `only` name the revisions that define the field, as in
//! [`object!`](crate::encode::object).
//!
//! `writer f` makes each value carry `f`, which writes it, as a function pointer. An enum of such
//! types links only the code of the variants that a program constructs. `f` is `write_members`,
//! which is generated, or calls it. `encode f` calls `f` directly.
//!
//! `#![rendered]` before the declaration adds what renders constants: see
//! [`rendered`](crate::types::rendered).

use core::fmt;

use crate::json::{JsonStr, RawJson};
use serde::de::{self, Deserialize, MapAccess, Unexpected};

macro_rules! payload {
    (#![rendered] $($declaration:tt)*) => {
        payload! { $($declaration)* }
        crate::types::macros::render! { $($declaration)* }
    };

    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$lt:lifetime>)? {
            $(tag $tkey:literal = $tag:literal;)?
            $(writer $writer:ident;)?
            $(encode $encode:ident;)?
            $(
                $(#[$rmeta:meta])*
                $rkey:literal $rname:ident: $rkind:ident $(($rty:ty))? $(= $rdefault:expr)?
                    $(=> via $rvia:path)? $(, $rgate:ident $rrevision:ident)?;
            )*
            $(optional: $(
                $(#[$ometa:meta])*
                $okey:literal $oname:ident: $okind:ident $(($oty:ty))? $(= $oinit:expr)?
                    $(=> when $when:path)? $(, $ogate:ident $orevision:ident)?;
            )*)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[must_use]
        #[non_exhaustive]
        $vis struct $name $(<$lt>)? {
            $($(#[$rmeta])* $vis $rname: payload!(@type $rkind $(($rty))?),)*
            $($($(#[$ometa])* $vis $oname: Option<payload!(@type $okind $(($oty))?)>,)*)?
            $(writer: payload!(@writer $writer of $name),)?
        }

        // Some types are only read, as members of another one.
        #[allow(dead_code, clippy::new_without_default)]
        impl $(<$lt>)? $name $(<$lt>)? {
            /// Creates a value with the required members; the others are omitted.
            $vis const fn new($($rname: payload!(@argument $rkind $(($rty))?)),*) -> Self {
                Self {
                    $($rname: payload!(@value $rkind $rname),)*
                    $($($oname: payload!(@initial $($oinit)?),)*)?
                    $(writer: crate::types::macros::Writer(|this, to| this.$writer(to)),)?
                }
            }

            $($(
                #[doc = concat!("Sets the member `", $okey, "`.")]
                #[doc = ""]
                $(#[$ometa])*
                $vis const fn $oname(
                    mut self,
                    $oname: payload!(@argument $okind $(($oty))?),
                ) -> Self {
                    self.$oname = Some(payload!(@value $okind $oname));
                    self
                }
            )*)?

            fn write_members(&self, to: &mut crate::encode::Encoder<'_>) {
                crate::encode::object!(to, {
                    $($tkey = $tag,)?
                    $($rkey $($rgate $rrevision)?: payload!(@written &self.$rname $(, $rvia)?),)*
                    $($($okey? $($ogate $orevision)?:
                        payload!(@optional (self.$oname) to $(, $when)?),
                    )*)?
                });
            }
        }

        impl $(<$lt>)? crate::encode::Encode for $name $(<$lt>)? {
            fn encode(&self, to: &mut crate::encode::Encoder<'_>) {
                payload!(@encode (self) to $($writer)? $(as $encode)?);
            }
        }

        impl<'de $(: $lt, $lt)?> serde::Deserialize<'de> for $name $(<$lt>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor $(<$lt>)? (core::marker::PhantomData<$name $(<$lt>)?>);
                impl<'de $(: $lt, $lt)?> serde::de::Visitor<'de> for Visitor $(<$lt>)? {
                    type Value = $name $(<$lt>)?;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<Self::Value, A::Error> {
                        $(let mut $rname = None;)*
                        $($(let mut $oname = None;)*)?
                        while let Some(key) = map.next_key::<crate::json::JsonStr<'de>>()? {
                            $(if key == $tkey {
                                crate::types::macros::expect(&mut map, $tag)?;
                                continue;
                            })?
                            $(if key == $rkey {
                                payload!(@read $rkind required &mut $rname, &mut map, $rkey);
                                continue;
                            })*
                            $($(if key == $okey {
                                payload!(@read $okind optional &mut $oname, &mut map, $okey);
                                continue;
                            })*)?
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                        Ok($name {
                            $($rname: payload!(@required $rname, $rkey $(, $rdefault)?),)*
                            $($($oname,)*)?
                            $(writer: crate::types::macros::Writer(|this, to| this.$writer(to)),)?
                        })
                    }
                }
                deserializer.deserialize_map(Visitor(core::marker::PhantomData))
            }
        }
    };

    (@type text) => { crate::types::Text<'a> };
    (@type version) => { crate::types::Text<'a> };
    (@type versions) => { crate::types::SupportedVersions<'a> };
    (@type list ($ty:ty)) => { crate::types::List<'a, $ty> };
    (@type icons) => { crate::types::Icons<'a> };
    (@type object) => { crate::json::RawJson<'a> };
    (@type any) => { crate::json::RawJson<'a> };
    (@type millis) => { u64 };
    (@type of ($ty:ty)) => { $ty };

    (@writer $writer:ident of $name:ident) => {
        crate::types::macros::Writer<fn(&$name<'_>, &mut crate::encode::Encoder<'_>)>
    };

    (@argument text) => { &'a str };
    (@argument version) => { crate::protocol::Revision };
    (@argument versions) => { crate::protocol::Revisions };
    (@argument list ($ty:ty)) => { &'a [$ty] };
    (@argument icons) => { &'a [crate::types::Icon<'a>] };
    (@argument $kind:ident $(($ty:ty))?) => { payload!(@type $kind $(($ty))?) };

    (@value text $value:ident) => { crate::types::Text::new($value) };
    (@value versions $value:ident) => { crate::types::SupportedVersions::new($value) };
    (@value version $value:ident) => { crate::types::Text::new($value.as_str()) };
    (@value icons $value:ident) => { crate::types::Icons::new($value) };
    (@value list $value:ident) => { crate::types::List::new($value) };
    (@value $kind:ident $value:ident) => { $value };

    (@encode ($this:expr) $to:ident) => { $this.write_members($to) };
    (@encode ($this:expr) $to:ident as $encode:ident) => { $this.$encode($to) };
    (@encode ($this:expr) $to:ident $writer:ident) => { ($this.writer.0)($this, $to) };

    (@initial) => { None };
    (@initial $value:expr) => { Some($value) };

    (@written $value:expr) => { $value };
    (@written $value:expr, $via:path) => { $via($value) };

    (@optional ($value:expr) $to:ident) => { $value };
    (@optional ($value:expr) $to:ident, $when:path) => {
        $value.filter(|value| $to.knows($when(value)))
    };

    (@read object required $slot:expr, $map:expr, $key:expr) => {
        crate::types::macros::object($slot, $map, $key)?
    };
    (@read object optional $slot:expr, $map:expr, $key:expr) => {
        crate::types::macros::optional_object($slot, $map, $key)?
    };
    (@read millis $how:ident $slot:expr, $map:expr, $key:expr) => {
        crate::types::macros::millis($slot, $map, $key)?
    };
    (@read any $how:ident $slot:expr, $map:expr, $key:expr) => {
        crate::types::macros::required($slot, $map, $key)?
    };
    (@read $kind:ident required $slot:expr, $map:expr, $key:expr) => {
        crate::types::macros::required($slot, $map, $key)?
    };
    (@read $kind:ident optional $slot:expr, $map:expr, $key:expr) => {
        crate::types::macros::optional($slot, $map, $key)?
    };

    (@required $slot:ident, $key:literal) => {
        match $slot {
            Some(value) => value,
            None => return Err(serde::de::Error::missing_field($key)),
        }
    };
    (@required $slot:ident, $key:literal, $default:expr) => { $slot.unwrap_or($default) };
}

/// Implements the `const` function of [`Const`](crate::types::rendered::Const) for a payload.
macro_rules! render {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$lt:lifetime>)? {
            $(writer $writer:ident;)?
            $(
                $(#[$rmeta:meta])*
                $rkey:literal $rname:ident: $rkind:ident $(($rty:ty))?;
            )*
            optional: $(
                $(#[$ometa:meta])*
                $okey:literal $oname:ident: $okind:ident $(($oty:ty))?
                    $(=> when $when:path)? $(, $gate:ident $revision:ident)?;
            )*
        }
    ) => {
        impl $(<$lt>)? crate::types::rendered::Const<'_, $name $(<$lt>)?> {
            pub(crate) const fn render(self, to: &mut crate::types::rendered::Renderer<'_>) {
                use crate::encode::Gate;
                let this = self.0;
                let outer = to.begin_object();
                $(
                    let gate = to.begin_member($rkey, Gate::ALL);
                    crate::types::macros::render!(@value $rkind (&this.$rname) to);
                    to.end_member(gate);
                )*
                $(if let Some(value) = &this.$oname {
                    let gate = Gate::ALL$(.and($when(value)))?$(
                        .and(Gate::$gate(crate::protocol::Revision::$revision))
                    )?;
                    let gate = to.begin_member($okey, gate);
                    crate::types::macros::render!(@value $okind (value) to);
                    to.end_member(gate);
                })*
                to.end_object(outer);
            }
        }
    };

    (@value list ($list:expr) $to:ident) => {
        match $list.source() {
            crate::types::common::Source::Own(items) => {
                $to.begin_array();
                let mut at = 0;
                while at < items.len() {
                    $to.element(at);
                    crate::types::rendered::Const(&items[at]).render($to);
                    at += 1;
                }
                $to.end_array();
            }
            crate::types::common::Source::Received(list) => $to.raw(list),
        }
    };
    (@value $kind:ident ($value:expr) $to:ident) => {
        crate::types::rendered::Const($value).render($to)
    };
}

/// Declares setters of fields: `field: Type;`, or `field?: Type;` where the field is an `Option`.
/// Without documentation a setter refers to that of its field.
macro_rules! setters {
    () => {};
    ($name:ident $($rest:tt)*) => {
        $crate::types::setters! {
            #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            $name $($rest)*
        }
    };
    ($(#[$doc:meta])+ $name:ident: $type:ty; $($rest:tt)*) => {
        $(#[$doc])+
        pub const fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        }
        $crate::types::setters! { $($rest)* }
    };
    ($(#[$doc:meta])+ $name:ident?: $type:ty; $($rest:tt)*) => {
        $(#[$doc])+
        pub const fn $name(mut self, $name: $type) -> Self {
            self.$name = Some($name);
            self
        }
        $crate::types::setters! { $($rest)* }
    };
}
pub(crate) use setters;

/// Declares an enum of payloads, which is written as the value of its variant. With `by "member"`
/// it is read, too: that member has the text before the variant, or the variant of `else` keeps the
/// object as JSON.
macro_rules! one_of {
    ($(#[$meta:meta])* pub enum $name:ident<$lt:lifetime> {
        $($(#[$vmeta:meta])* $variant:ident($type:ty),)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name<$lt> {
            $($(#[$vmeta])* $variant($type),)+
        }

        impl crate::encode::Encode for $name<'_> {
            fn encode(&self, to: &mut crate::encode::Encoder<'_>) {
                match self {
                    $(Self::$variant(value) => crate::encode::Encode::encode(value, to),)+
                }
            }
        }
    };

    ($(#[$meta:meta])* pub enum $name:ident<$lt:lifetime> by $key:literal {
        $($(#[$vmeta:meta])* $tag:literal => $variant:ident($type:ty),)+
    } else {
        $(#[$ometa:meta])* $other:ident($json:ty),
    }) => {
        one_of! {
            $(#[$meta])*
            pub enum $name<$lt> {
                $($(#[$vmeta])* $variant($type),)+
                $(#[$ometa])* $other($json),
            }
        }

        impl<'de: $lt, $lt> serde::Deserialize<'de> for $name<$lt> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = RawJson::deserialize(deserializer)?;
                let Some(tag) = raw.get($key).and_then(RawJson::as_string) else {
                    return Err(serde::de::Error::missing_field($key));
                };
                let read = $(if tag == $tag {
                    raw.to().map(Self::$variant)
                } else)+ {
                    Ok(Self::$other(raw))
                };
                read.map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Declares the result of a list request: a page of items.
macro_rules! page {
    (
        $(#[$meta:meta])*
        pub struct $name:ident<$lt:lifetime> {
            $(#[$imeta:meta])*
            $key:literal $field:ident: $item:ty;
        }
    ) => {
        payload! {
            $(#[$meta])*
            pub struct $name<$lt> {
                $(#[$imeta])*
                $key $field: list($item);
                optional:
                /// Cursor of the next page; absent on the last page.
                "nextCursor" next_cursor: text;
                /// Time that the result stays fresh, in milliseconds; 0 if missing or negative.
                /// Since 2026-07-28, where it is required.
                "ttlMs" ttl_ms: millis = 0, since V2026_07_28;
                /// Whether caches may share the result between users; private if missing. Since
                /// 2026-07-28, where it is required.
                "cacheScope" cache_scope: of(crate::types::CacheScope)
                    = crate::types::CacheScope::Private, since V2026_07_28;
                /// Metadata by key: see [`meta`](crate::types::meta).
                "_meta" meta: object;
            }
        }
    };
}

/// Declares an enum of strings. A later revision may add some.
macro_rules! names {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            /// Returns the string on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Returns the variant with this string on the wire.
            pub fn parse(name: &str) -> Option<Self> {
                [$(Self::$variant),+].into_iter().find(|known| known.as_str() == name)
            }

            /// Returns the variant for a string of a message.
            pub fn from_json(name: crate::json::JsonStr<'_>) -> Option<Self> {
                [$(Self::$variant),+].into_iter().find(|known| name == *known.as_str())
            }
        }

        impl crate::encode::Encode for $name {
            fn encode(&self, to: &mut crate::encode::Encoder<'_>) {
                to.string(self.as_str());
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = crate::json::JsonStr::deserialize(deserializer)?;
                Self::from_json(name).ok_or_else(|| {
                    serde::de::Error::invalid_value(serde::de::Unexpected::Other("another string"), &concat!("a ", stringify!($name)))
                })
            }
        }
    };
}

pub(super) use {names, one_of, page, payload, render};

/// The function that writes a value.
#[derive(Clone, Copy)]
pub(super) struct Writer<F>(pub(super) F);

impl<F> fmt::Debug for Writer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

pub(super) fn required<'de, T, A>(
    slot: &mut Option<T>,
    map: &mut A,
    key: &'static str,
) -> Result<(), A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    if slot.is_some() {
        return Err(de::Error::duplicate_field(key));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

pub(super) fn optional<'de, T, A>(
    slot: &mut Option<T>,
    map: &mut A,
    key: &'static str,
) -> Result<(), A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    if slot.is_some() {
        return Err(de::Error::duplicate_field(key));
    }
    *slot = map.next_value()?;
    Ok(())
}

pub(super) fn object<'de: 'a, 'a, A: MapAccess<'de>>(
    slot: &mut Option<RawJson<'a>>,
    map: &mut A,
    key: &'static str,
) -> Result<(), A::Error> {
    required(slot, map, key)?;
    if slot.is_some_and(RawJson::is_object) { Ok(()) } else { Err(wrong(&"an object")) }
}

pub(super) fn optional_object<'de: 'a, 'a, A: MapAccess<'de>>(
    slot: &mut Option<RawJson<'a>>,
    map: &mut A,
    key: &'static str,
) -> Result<(), A::Error> {
    optional(slot, map, key)?;
    if slot.is_none_or(RawJson::is_object) { Ok(()) } else { Err(wrong(&"an object")) }
}

/// Reads milliseconds. A negative number or a fraction is 0.
pub(super) fn millis<'de, A: MapAccess<'de>>(
    slot: &mut Option<u64>,
    map: &mut A,
    key: &'static str,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(de::Error::duplicate_field(key));
    }
    let value = map.next_value::<RawJson<'de>>()?;
    if value.is_null() {
        return Ok(());
    }
    if !value.is_number() {
        return Err(wrong(&"a number"));
    }
    *slot = Some(value.as_u64().unwrap_or(0));
    Ok(())
}

/// Checks the value of the member that discriminates types.
pub(super) fn expect<'de, A: MapAccess<'de>>(
    map: &mut A,
    tag: &'static str,
) -> Result<(), A::Error> {
    if map.next_value::<JsonStr<'de>>()? == tag { Ok(()) } else { Err(wrong(&tag)) }
}

pub(super) fn wrong<E: de::Error>(expected: &dyn de::Expected) -> E {
    E::invalid_type(Unexpected::Other("another value"), expected)
}
