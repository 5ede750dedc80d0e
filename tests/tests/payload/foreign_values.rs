//! Values of other crates with private type names: JSON text is written as JSON, other private
//! names are refused.

use std::collections::BTreeMap;

use mcp_sansio::Json;
use mcp_sansio::types::Implementation;
use mcp_sansio::*;
use mcp_sansio_tests::memory::new_server;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Serializes like `serde_json::Number` with the feature `arbitrary_precision`, which is off here
/// since it would apply to all tests.
struct Number(&'static str);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        private_struct(
            serializer,
            "$serde_json::private::Number",
            &[("$serde_json::private::Number", self.0)],
        )
    }
}

fn private_struct<S: Serializer>(
    to: S,
    name: &'static str,
    fields: &[(&'static str, &str)],
) -> Result<S::Ok, S::Error> {
    let mut object = to.serialize_struct(name, fields.len())?;
    for (key, value) in fields {
        object.serialize_field(key, value)?;
    }
    object.end()
}

/// A struct with any name and fields.
struct Struct(&'static str, &'static [(&'static str, &'static str)]);

impl Serialize for Struct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        private_struct(serializer, self.0, self.1)
    }
}

/// A newtype struct with any name around a string.
struct Newtype(&'static str);

impl Serialize for Newtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(self.0, "inside")
    }
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.into()).unwrap()
}

/// Returns the output of all ways to write a value: in one piece, after a counting pass, and into a
/// slice.
fn written<T: Serialize + ?Sized>(value: &T) -> Result<String, SendError> {
    let owned = OwnedJson::new(&Json(value), Revision::LATEST)
        .map(|json| json.as_json().as_str().to_owned());
    let mut out = vec![0; 4096];
    let slice =
        to_slice(&Json(value), Revision::LATEST, &mut out).map(|json| json.as_str().to_owned());
    assert_eq!(owned, slice);
    owned
}

fn refuses<T: Serialize + ?Sized>(value: &T, what: &str) {
    assert_eq!(written(value), Err(SendError::Invalid(InvalidPayload::PrivateType)), "{what}");
}

#[derive(Serialize)]
struct Rows {
    first: Number,
    rows: Vec<Box<RawValue>>,
    more: BTreeMap<&'static str, Box<RawValue>>,
    none: Option<Box<RawValue>>,
    last: Option<Number>,
}

#[test]
fn b4_json_text_of_serde_json_is_written_as_the_json_that_it_is() {
    assert_eq!(written(&raw(r#"{"x":1}"#)).unwrap(), r#"{"x":1}"#);
    assert_eq!(written(&Number("1.50")).unwrap(), "1.50");
    let long = format!(r#"["{}"]"#, "x".repeat(3000));
    let rows = Rows {
        first: Number("340282366920938463463374607431768211456"),
        rows: vec![raw("1"), raw(r#""a\n""#), raw(&long), raw(" [ {} ] ")],
        more: BTreeMap::from([("k", raw(r#"{"a":null}"#))]),
        none: None,
        last: Some(Number("-1e-9")),
    };
    let expected = format!(
        r#"{{"first":340282366920938463463374607431768211456,"rows":[1,"a\n",{long},[ {{}} ]],"more":{{"k":{{"a":null}}}},"none":null,"last":-1e-9}}"#
    );
    assert_eq!(written(&rows).unwrap(), expected);
    // A line break between tokens would end the frame.
    assert_eq!(written(&raw("[1,\n2]")).unwrap(), "[1, 2]");
}

#[test]
fn b4_invalid_json_text_is_refused() {
    const RAW: &str = "$serde_json::private::RawValue";
    for text in ["", "{", "1 2", "nul", "{\"a\":}", "\"\n\""] {
        refuses(&Struct(RAW, Box::leak(Box::new([(RAW, text)]))), text);
    }
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    refuses(&raw(&deep), "deep");
    // A struct of that name with no field, two fields, or another field.
    for fields in [
        &[][..],
        &[(RAW, "1"), (RAW, "2")],
        &[("a", "1")],
        &[("type", "x"), (RAW, "1")],
        &[(RAW, "1"), ("type", "x")],
    ] {
        refuses(&Struct(RAW, fields), &format!("{fields:?}"));
    }
}

#[test]
fn b4_other_private_names_are_refused_and_plain_ones_written() {
    for name in [
        "$__toml_private_datetime",
        "$__toml_private_Datetime",
        "$__serde_spanned_private_Spanned",
        "$serde_yaml::private::Tag",
    ] {
        refuses(&Struct(name, &[("a", "1")]), name);
        refuses(&[Struct(name, &[("a", "1")])], name);
    }
    refuses(&Newtype("$ron::private::RawValue"), "a newtype");
    // Types of `bson` contain JSON for other serializers; names with `$` in extended JSON are
    // ordinary keys.
    assert_eq!(written(&Newtype("$__private__bson_RawDocument")).unwrap(), r#""inside""#);
    assert_eq!(written(&Struct("$oid", &[("$oid", "5f")])).unwrap(), r#"{"$oid":"5f"}"#);
    let expected = r#"{"$schema":"x","$ref":"y"}"#;
    assert_eq!(written(&Struct("Schema", &[("$schema", "x"), ("$ref", "y")])).unwrap(), expected);
}

#[test]
fn b4_a_flattened_or_tagged_private_struct_is_refused() {
    #[derive(Serialize)]
    struct Flat {
        #[serde(flatten)]
        rest: Number,
    }
    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        A(Number),
    }
    struct AsKey;
    impl Serialize for AsKey {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry(&Number("1"), "x")?;
            map.end()
        }
    }
    refuses(&Flat { rest: Number("1") }, "flattened");
    refuses(&Tagged::A(Number("1")), "tagged");
    assert_eq!(written(&AsKey), Err(SendError::Invalid(InvalidPayload::Serialize)));
}

#[test]
fn b4_a_result_of_json_text_is_completed_like_any_other() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    type Respond<'r> = &'r dyn Fn(&mut Server<'_>, RequestHandle, &mut Tx<'_>) -> SendResult;
    let answer = |size: usize, value: Respond<'_>| {
        let (mut server, mut tx, mut out) =
            (new_server::<8, 8>(&CONFIG), TxBuffer::new(vec![0; size]), Vec::new());
        let mut messages = Messages::new(Frame::Complete(CALL.as_bytes()));
        let Ok(Some(ServerEvent::Request(request))) =
            server.next_event(Instant::from_millis(0), &mut messages, &mut tx)
        else {
            panic!("no request")
        };
        loop {
            let result = value(&mut server, request.handle, &mut tx);
            out.extend_from_slice(tx.pending());
            tx.advance(usize::MAX);
            match result {
                Err(SendError::Full) => {}
                result => return result.map(|_| String::from_utf8(out).unwrap()),
            }
        }
    };
    let result = raw(r#"{"content":[],"structuredContent":{"n":1.10},"_meta":{"own":1}}"#);
    let ours = RawJson::parse(result.get()).unwrap();
    for size in [7, 64, 4096] {
        let foreign =
            answer(size, &|server, request, tx| server.respond(request, &Json(&result), tx))
                .unwrap();
        assert_eq!(
            foreign,
            answer(size, &|server, request, tx| server.respond(request, &ours, tx)).unwrap(),
            "{size}"
        );
        assert!(foreign.contains("serverInfo") && foreign.contains("1.10"), "{foreign}");
    }
    let found = answer(4096, &|server, request, tx| server.respond(request, &Json(raw("[1]")), tx));
    assert_eq!(found, Err(SendError::Invalid(InvalidPayload::NotAnObject)));
}

#[test]
fn b4_json_is_read_into_a_raw_value() {
    let json = RawJson::parse(r#" {"a":[1, {"b":1.10}],"b":"x\n","c":null} "#).unwrap();
    assert_eq!(json.to::<Box<RawValue>>().unwrap().get(), json.as_str());
    assert_eq!(json.to::<&RawValue>().unwrap().get(), json.as_str());
    #[derive(serde::Deserialize)]
    struct Parts<'a> {
        #[serde(borrow)]
        a: &'a RawValue,
        b: Box<RawValue>,
        c: Option<Box<RawValue>>,
    }
    let parts: Parts<'_> = json.to().unwrap();
    assert_eq!((parts.a.get(), parts.b.get()), (r#"[1, {"b":1.10}]"#, r#""x\n""#));
    assert!(parts.c.is_none());
    let map: BTreeMap<String, Box<RawValue>> = json.to().unwrap();
    assert_eq!(map["c"].get(), "null");
    assert_eq!(written(&map).unwrap(), r#"{"a":[1, {"b":1.10}],"b":"x\n","c":null}"#);
}
