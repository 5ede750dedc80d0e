//! serde `Deserializer` over scanned text. It borrows where it can; only strings with escapes are
//! decoded into a copy.

use super::number::{self, Number};
use super::scan::{skip_string, skip_value, skip_whitespace};
use super::value::{JsonStr, RawJson};
use super::{RAW, RAW_VALUE, ReadError, ReadErrorKind, raw_value};
use serde::de::{self, DeserializeSeed, Visitor};

/// Deserializer of one value of scanned text. Its position is after the value when it has been
/// read.
pub(crate) struct Reader<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Reader<'de> {
    pub(crate) fn new(value: RawJson<'de>) -> Self {
        Self { text: value.as_str(), at: 0 }
    }

    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_whitespace(&mut self) {
        self.at = skip_whitespace(self.text.as_bytes(), self.at);
    }

    /// Skips the next value and returns its text.
    fn value(&mut self) -> Result<&'de str, ReadError> {
        let start = self.at;
        self.at = skip_value(self.text.as_bytes(), start, 0)
            .map_err(|_| ReadError::new(ReadErrorKind::Other))?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn string(&mut self, expected: &'static str) -> Result<JsonStr<'de>, ReadError> {
        if self.peek() != b'"' {
            return Err(ReadError::expected(expected));
        }
        let start = self.at;
        self.at = skip_string(self.text.as_bytes(), start)
            .map_err(|_| ReadError::new(ReadErrorKind::Other))?;
        Ok(JsonStr::scanned(self.text.get(start..self.at).unwrap_or_default()))
    }

    fn number(&mut self, expected: &'static str) -> Result<&'de str, ReadError> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(ReadError::expected(expected));
        }
        self.value()
    }

    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ReadError> {
        let string = self.string("a string")?;
        if let Some(plain) = string.as_plain() {
            return visitor.visit_borrowed_str(plain);
        }
        let mut scratch = [0; SCRATCH];
        if let Some(decoded) = string.copy_to(&mut scratch) {
            return visitor.visit_str(decoded);
        }
        #[cfg(feature = "alloc")]
        return visitor.visit_string(string.chars().collect());
        #[cfg(not(feature = "alloc"))]
        Err(ReadError::new(ReadErrorKind::EscapedTooLong))
    }

    fn visit_sequence<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ReadError> {
        self.at += 1;
        let value = visitor.visit_seq(Children { reader: self })?;
        self.close(b']')?;
        Ok(value)
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ReadError> {
        self.at += 1;
        let value = visitor.visit_map(Children { reader: self })?;
        self.close(b'}')?;
        Ok(value)
    }

    /// Skips the end of an object or array, all of which the visitor must have read.
    fn close(&mut self, bracket: u8) -> Result<(), ReadError> {
        self.skip_whitespace();
        if self.peek() != bracket {
            return Err(ReadError::expected("fewer elements"));
        }
        self.at += 1;
        Ok(())
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let value: $type = integer(self.number("an integer")?, &visitor)?;
            visitor.$visit(value)
        }
    )*};
}

macro_rules! floats {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.number("a number")?.parse() {
                Ok(n) if <$type>::is_finite(n) => visitor.$visit(n),
                _ => Err(ReadError::new(ReadErrorKind::OutOfRange)),
            }
        }
    )*};
}

macro_rules! strings {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            self.visit_string(visitor)
        }
    )*};
}

fn integer<T: TryFrom<i64> + TryFrom<u64>>(
    text: &str,
    expected: &dyn de::Expected,
) -> Result<T, ReadError> {
    let value = match number::integer(text) {
        Some((false, value)) => T::try_from(value).ok(),
        Some(value) => number::signed(value).and_then(|value| T::try_from(value).ok()),
        None => return Err(not_an_integer(text, expected)),
    };
    value.ok_or(ReadError::new(ReadErrorKind::OutOfRange))
}

fn wide_integer(text: &str, expected: &dyn de::Expected) -> Result<i128, ReadError> {
    let (negative, value) =
        number::integer::<i128>(text).ok_or_else(|| not_an_integer(text, expected))?;
    Ok(if negative { -value } else { value })
}

fn not_an_integer(text: &str, expected: &dyn de::Expected) -> ReadError {
    // The message contains the number, which takes the float parser: not linked if there is no
    // message.
    #[cfg(feature = "alloc")]
    if let Number::Float(n) = Number::parse(text)
        && n.abs() < 1e18
    {
        return de::Error::invalid_type(de::Unexpected::Float(n), expected);
    }
    let _ = expected;
    if text.contains('.') {
        ReadError::expected("an integer")
    } else {
        ReadError::new(ReadErrorKind::OutOfRange)
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.peek() {
            b'"' => self.visit_string(visitor),
            b'{' => self.visit_object(visitor),
            b'[' => self.visit_sequence(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => match Number::parse(self.number("a value")?) {
                Number::Unsigned(n) => visitor.visit_u64(n),
                Number::Signed(n) => visitor.visit_i64(n),
                Number::Float(n) if n.is_finite() => visitor.visit_f64(n),
                Number::Float(_) => Err(ReadError::new(ReadErrorKind::OutOfRange)),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.peek() {
            b't' | b'f' => visitor.visit_bool(self.value()? == "true"),
            _ => Err(ReadError::expected("a boolean")),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64
    }

    // `number::integer` cannot return all values of these two types.
    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let text = self.number("an integer")?;
        let value = text.parse().or_else(|_| wide_integer(text, &visitor))?;
        visitor.visit_i128(value)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let text = self.number("an integer")?;
        let value = match text.parse() {
            Ok(value) => value,
            Err(_) => wide_integer(text, &visitor)?
                .try_into()
                .map_err(|_| ReadError::new(ReadErrorKind::OutOfRange))?,
        };
        visitor.visit_u128(value)
    }

    floats! { deserialize_f32 visit_f32 f32, deserialize_f64 visit_f64 f64 }

    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.peek() {
            b'[' => self.visit_sequence(visitor),
            _ => self.visit_string(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.peek() == b'n' {
            self.value()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.peek() != b'n' {
            return Err(ReadError::expected("null"));
        }
        self.value()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match name {
            RAW => visitor.visit_borrowed_str(self.value()?),
            RAW_VALUE => visitor.visit_map(raw_value(self.value()?)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.peek() {
            b'[' => self.visit_sequence(visitor),
            _ => Err(ReadError::expected("an array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.peek() {
            b'{' => self.visit_object(visitor),
            _ => Err(ReadError::expected("an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.peek() {
            b'[' => self.visit_sequence(visitor),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.peek() {
            b'"' => visitor.visit_enum(Variant { reader: self, has_value: false }),
            b'{' => {
                self.at += 1;
                self.skip_whitespace();
                let value = visitor.visit_enum(Variant { reader: self, has_value: true })?;
                self.close(b'}')?;
                Ok(value)
            }
            _ => Err(ReadError::expected("a variant's name, or an object with one member")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.value()?;
        visitor.visit_unit()
    }
}

/// The members of an object or the elements of an array.
struct Children<'r, 'de> {
    reader: &'r mut Reader<'de>,
}

impl Children<'_, '_> {
    /// Moves to the next member or element, if there is one.
    fn advance(&mut self) -> bool {
        self.reader.skip_whitespace();
        match self.reader.peek() {
            b']' | b'}' => false,
            b',' => {
                self.reader.at += 1;
                self.reader.skip_whitespace();
                true
            }
            _ => true,
        }
    }
}

impl<'de> de::SeqAccess<'de> for Children<'_, 'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        if self.advance() { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> de::MapAccess<'de> for Children<'_, 'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        if self.advance() { seed.deserialize(MapKey(self.reader)).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        self.reader.skip_colon();
        seed.deserialize(&mut *self.reader)
    }
}

impl Reader<'_> {
    fn skip_colon(&mut self) {
        self.skip_whitespace();
        self.at += 1;
        self.skip_whitespace();
    }
}

/// Size in bytes of the stack buffer into which strings with escapes are decoded; longer ones need
/// an allocator.
const SCRATCH: usize = 128;

// Keys of maps, which may be integers.

/// Deserializer of an object's key: a string, or the integer in it for maps with integer keys.
struct MapKey<'r, 'de>(&'r mut Reader<'de>);

macro_rules! integer_keys {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let key = self.0.string("a key")?;
            let key: $type =
                key.inner().parse().map_err(|_| ReadError::expected("an integer as key"))?;
            visitor.$visit(key)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for MapKey<'_, 'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.0.visit_string(visitor)
    }

    integer_keys! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64,
        deserialize_i128 visit_i128 i128, deserialize_u128 visit_u128 u128
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        // The inner type may be an integer, which only `MapKey` parses from a string.
        if name == RAW {
            visitor.visit_borrowed_str(self.0.value()?)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

// Variants of enums.

/// An enum variant: an object with one member, or a string for one without a value.
struct Variant<'r, 'de> {
    reader: &'r mut Reader<'de>,
    has_value: bool,
}

impl<'r, 'de> Variant<'r, 'de> {
    /// Returns the reader of its value.
    fn value(self, expected: &'static str) -> Result<&'r mut Reader<'de>, ReadError> {
        if self.has_value { Ok(self.reader) } else { Err(ReadError::expected(expected)) }
    }
}

impl<'de> de::EnumAccess<'de> for Variant<'_, 'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let variant = seed.deserialize(&mut *self.reader)?;
        if self.has_value {
            self.reader.skip_colon();
        }
        Ok((variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_, 'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        if self.has_value { de::Deserialize::deserialize(self.reader) } else { Ok(()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self.value("a variant with a value")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_seq(self.value("a variant with values")?, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_struct(self.value("a variant with fields")?, "", &[], visitor)
    }
}
