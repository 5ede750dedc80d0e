//! Limits for collections that a peer sends, and the errors beyond them.

use mcp_sansio::http::param_headers::{MAX_PARAMS, check_schema};
use mcp_sansio::types::{FormErrorKind, Implementation, MAX_FORM_FIELDS, RequestedSchema, Tool};
use mcp_sansio::{
    Catalog, Entry, Instant, OwnedJson, RawJson, RxBuffer, ServerConfig, ServerEvent,
    ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::memory::new_server;

fn join(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

fn owned(text: &str) -> OwnedJson {
    RawJson::parse(text).unwrap().into()
}

#[test]
fn c4_a_tool_has_at_most_64_annotations() {
    let schema = |count: usize, name: &dyn Fn(usize) -> String| {
        let properties = join(count, |at| {
            format!(r#""p{at}":{{"type":"string","x-mcp-header":"{}"}}"#, name(at))
        });
        owned(&format!(r#"{{"type":"object","properties":{{{properties}}}}}"#))
    };
    assert_eq!(check_schema(schema(MAX_PARAMS, &|at| format!("H{at}")).as_json()), Ok(()));
    let error = check_schema(schema(MAX_PARAMS + 1, &|at| format!("H{at}")).as_json()).unwrap_err();
    assert!(error.reason.contains("64"), "{error}");
    let last = MAX_PARAMS - 1;
    let twice = |at| if at == last { "h0".to_owned() } else { format!("H{at}") };
    let error = check_schema(schema(MAX_PARAMS, &twice).as_json()).unwrap_err();
    assert!(error.reason.contains("are equal"), "{error}");
}

#[test]
fn c5_a_form_has_at_most_100_fields() {
    let form = |fields: usize, required: &[usize]| {
        let properties = join(fields, |at| format!(r#""f{at}":{{"type":"boolean"}}"#));
        let required = join(required.len(), |at| format!(r#""\u0066{}""#, required[at]));
        owned(&format!(
            r#"{{"type":"object","properties":{{{properties}}},"required":[{required}]}}"#
        ))
    };
    let json = form(MAX_FORM_FIELDS, &[0, 7, MAX_FORM_FIELDS - 1, 1000]);
    let schema = RequestedSchema::from_json(json.as_json()).unwrap();
    assert!(schema.validate().is_ok());
    let fields = schema.fields().map(|field| field.unwrap().required);
    let required: Vec<_> = fields.zip(0..).filter(|(required, _)| *required).collect();
    assert_eq!(required, [(true, 0), (true, 7), (true, MAX_FORM_FIELDS - 1)]);
    assert_eq!(schema.validate_content(RawJson::EMPTY).unwrap_err().kind, FormErrorKind::Missing);

    let json = form(MAX_FORM_FIELDS + 1, &[]);
    let schema = RequestedSchema::from_json(json.as_json()).unwrap();
    for fault in [schema.validate(), schema.validate_content(RawJson::EMPTY)] {
        assert_eq!(fault.unwrap_err().kind, FormErrorKind::TooManyFields);
    }
    let fields: Vec<_> = schema.fields().map(|field| field.is_ok()).collect();
    assert_eq!(fields, [vec![true; MAX_FORM_FIELDS], vec![false]].concat());

    let json = form(1, &(0..=MAX_FORM_FIELDS).collect::<Vec<_>>());
    let schema = RequestedSchema::from_json(json.as_json()).unwrap();
    assert_eq!(schema.validate().unwrap_err().kind, FormErrorKind::TooManyFields);
}

#[test]
fn b8_a_schema_with_a_duplicate_key_is_an_error() {
    let check = |schema: &str| {
        let schema = owned(schema);
        let tool = Tool::new("t", schema.as_json());
        let tools = [Entry::from(&tool)];
        Catalog::new().tools(&tools).check().map_err(|error| error.reason)
    };
    let double = Err("two members of an object in a schema have the same key");
    assert_eq!(check(r#"{"type":"object","properties":{"a":{"minimum":0,"minimum":1}}}"#), double);
    assert_eq!(check(r#"{"type":"object","a":[{"x":{"y":[],"z":"\"y\":","y":1}}]}"#), double);
    assert_eq!(check(r#"{"type":"object" , "a\"b" : 1 , "a\"b":2}"#), double);
    let single = r#"{"type":"object","a":{"type":"object"},"b":{"a":1,"b":"a","ab":{},"":[{"a":1},{"a":1}]},"a\"b":1,"a\"":2,"a\n":3,"a\t":4}"#;
    assert_eq!(check(single), Ok(()));
}

#[test]
#[should_panic(expected = "two members of an object have the same key")]
fn b8_json_literals_have_no_duplicate_keys() {
    let _ = RawJson::from_static(r#"{"a":[{"minimum":0,"minimum":1}]}"#);
}

#[test]
fn w1_a_batch_can_be_gone_on_with_by_a_new_cursor_for_each_message() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"é":["\u00e9"]}}"#;
    let batch =
        format!("[{note} , {},\t{note}, 5 ,{note}]", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let mut events = Vec::new();
    for rebuild in [false, true] {
        let (mut server, mut tx) = (new_server::<8, 8>(&CONFIG), TxBuffer::new(vec![0; 4096]));
        let mut rx = RxBuffer::with_limit(vec![0; 64], 1 << 20);
        let mut seen = Vec::new();
        for byte in format!("{OPEN}\n{batch}\n{note}\n").bytes() {
            rx.spare()[0] = byte;
            rx.commit(1);
            while let Some(mut messages) = rx.next_messages() {
                let now = Instant::from_millis(0);
                while let Some(event) = server.next_event(now, &mut messages, &mut tx).unwrap() {
                    seen.push(match event {
                        ServerEvent::Notification { params, .. } => params.as_json().to_string(),
                        other => format!("{other:?}").split(' ').next().unwrap().to_owned(),
                    });
                    if rebuild {
                        break;
                    }
                }
            }
        }
        seen.push(String::from_utf8(tx.pending().to_vec()).unwrap());
        events.push(seen);
    }
    assert_eq!(events[0], events[1]);
    assert_eq!(events[0].len(), 8, "{events:?}");
}

#[test]
fn d_schema_validation_has_a_budget_and_checks_both_of_two_equal_keys() {
    let check = |schema: &str, content: &str| {
        let (schema, content) = (owned(schema), owned(content));
        let tool = Tool::new("t", RawJson::EMPTY).output_schema(schema.as_json());
        let [text, read] = [Entry::from(&tool), Entry::from(tool)].map(|entry| {
            entry.check_structured(Some(content.as_json())).map_err(|error| error.to_string())
        });
        // Reading the schema costs a part of the budget.
        assert_eq!(text.is_ok(), read.is_ok());
        text
    };
    // A thousand members in the same order, three hundred in the opposite one.
    for (count, backwards) in [(1000, false), (300, true)] {
        let properties = join(count, |at| {
            format!(r#""m{}":{{"type":"integer"}}"#, if backwards { count - 1 - at } else { at })
        });
        let required = join(count, |at| format!(r#""m{at}""#));
        let schema = format!(
            r#"{{"type":"object","additionalProperties":false,"properties":{{{properties}}},"required":[{required}]}}"#
        );
        let content = format!("{{{}}}", join(count, |at| format!(r#""m{at}":{at}"#)));
        assert_eq!(check(&schema, &content), Ok(()), "{count}");
    }
    let schema = format!(
        r#"{{"type":"object","required":[{}]}}"#,
        join(20_000, |at| format!(r#""m{}""#, 20_000 - at))
    );
    let content = format!("{{{}}}", join(20_001, |at| format!(r#""m{at}":{at}"#)));
    assert_eq!(check(&schema, &content), Err("m19757: is too large to be checked".into()));
    let schema = r#"{"type":"object","properties":{"b":{},"a":{"type":"integer"}}}"#;
    let required = r#"{"type":"object","properties":{"a\n":{}},"required":["a\t"]}"#;
    assert_eq!(check(required, r#"{"a\n":1}"#), Err(r"a\t: is missing".into()));
    let wrong = r#"a: must be of type integer, is "x""#;
    for content in [r#"{"a":"x","b":1,"a":1}"#, r#"{"a":1,"b":1,"a":"x"}"#] {
        assert_eq!(check(schema, content), Err(wrong.into()), "{content}");
    }
}
