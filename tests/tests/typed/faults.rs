//! What is said of values that a type does not accept.

use mcp_sansio::typed::{Input, InputObject, MAX_FAULTS};
use mcp_sansio::{RawJson, Revision, to_slice};

use crate::zoo::*;

fn faults<'a, T: InputObject<'a>>(json: &'a str) -> String {
    match T::parse(RawJson::parse(json).expect("it is JSON")) {
        Ok(_) => panic!("accepted: {json}"),
        Err(faults) => {
            let words = faults.to_string();
            // A string in a message says the same.
            let mut buffer = [0; 1024];
            let json = to_slice(&faults, Revision::LATEST, &mut buffer).unwrap();
            assert_eq!(serde_json::from_str::<String>(json.as_str()).unwrap(), words);
            words
        }
    }
}

#[test]
fn a_fault_names_argument_rule_and_value() {
    for (json, words) in [
        ("[]", "the value: must be an object, is an array"),
        ("{}", "sql: is missing, must be a string of 1 to 20 characters"),
        (r#"{"sql":7}"#, "sql: must be a string of 1 to 20 characters, is 7"),
        (r#"{"sql":null}"#, "sql: must be a string of 1 to 20 characters, is null"),
        (r#"{"sql":""}"#, "sql: must be a string of 1 to 20 characters, has 0"),
        (
            r#"{"sql":"\u00e9\ud83d\ude00 3456789012345678901"}"#,
            "sql: must be a string of 1 to 20 characters, has 22",
        ),
        (r#"{"sql":"x","limit":0}"#, "limit: must be an integer from 1 to 1000, is 0"),
        (r#"{"sql":"x","limit":1001}"#, "limit: must be an integer from 1 to 1000, is 1001"),
        (r#"{"sql":"x","limit":1.5}"#, "limit: must be an integer from 1 to 1000, is 1.5"),
        (r#"{"sql":"x","limit":"7"}"#, r#"limit: must be an integer from 1 to 1000, is "7""#),
        (r#"{"sql":"x","limit":1e99}"#, "limit: must be an integer from 1 to 1000, is 1e99"),
        (
            r#"{"sql":"x","mode":"fasst"}"#,
            r#"mode: must be one of "fast", "very_exact", "best-effort", is "fasst""#,
        ),
        (r#"{"sql":"x","tags":{}}"#, "tags: must be an array of at most 3 elements, is an object"),
        (
            r#"{"sql":"x","tags":[1,2]}"#,
            "tags[0]: must be a string, is 1\ntags[1]: must be a string, is 2",
        ),
        (
            r#"{"sql":"x","tags":["","","",""]}"#,
            "tags: must be an array of at most 3 elements, has 4",
        ),
        (
            r#"{"sql":"x","columns":[{"columnName":"a","ascending":0}]}"#,
            "columns[0].ascending: must be true or false, is 0",
        ),
        (
            r#"{"sql":"x","limt":1}"#,
            "limt: is unknown, must be one of sql, limit, mode, tags, columns, region",
        ),
        (r#"{"sql":"x","s\u0071l":"y"}"#, r"s\u0071l: is given twice"),
    ] {
        assert_eq!(faults::<Query<'_>>(json), words);
    }
    for (json, words) in [
        (r#"{"shapes":[{"kind":"nothing"}]}"#, "origin: is missing, must be an object"),
        (
            r#"{"shapes":[],"origin":{"x":-101},"opacity":1.51,"offset":-1}"#,
            "shapes: must be an array of at least 1 element, has 0\n\
             origin.x: must be an integer from -100 to 100, is -101\n\
             opacity: must be a number, at least 0.0, at most 1.5e0, is 1.51\n\
             offset: must be a number, at least -0.25, is -1",
        ),
        (
            r#"{"shapes":[{},{"kind":"oval"},{"kind":7},{"kind":"circle"},{"kind":"nothing","kind":"line"},{"kind":"line","from":1}],"origin":{"x":1}}"#,
            "shapes[0].kind: is missing, must be one of \"circle\", \"line\", \"nothing\"\n\
             shapes[1].kind: must be one of \"circle\", \"line\", \"nothing\", is \"oval\"\n\
             shapes[2].kind: must be one of \"circle\", \"line\", \"nothing\", is 7\n\
             shapes[3].radius: is missing, must be an integer from 1 to 65535\n\
             shapes[4].kind: is given twice\n\
             shapes[5].from: must be an object, is 1\n\
             shapes[5].to: is missing, must be an object",
        ),
        (
            r#"{"shapes":[{"kind":"circle","radius":0,"x":1}],"origin":{"x":1},"opacity":"","angle":-1}"#,
            "shapes[0].radius: must be an integer from 1 to 65535, is 0\n\
             shapes[0].x: is unknown, must be one of radius, label\n\
             opacity: must be a number, at least 0.0, at most 1.5e0, is \"\"\n\
             angle: must be an integer from 0 to 359, is -1",
        ),
    ] {
        assert_eq!(faults::<Drawing<'_>>(json), words);
    }
    let expected = r#"date: must be a string in the format date, is "yesterday""#;
    assert_eq!(faults::<Formats<'_>>(r#"{"date":"yesterday"}"#), expected);
    let expected = "date: must be a string in the format date, is 7";
    assert_eq!(faults::<Formats<'_>>(r#"{"date":7}"#), expected);
    assert_eq!(faults::<Nothing>(r#"{"a":7}"#), "a: is unknown, must be left out");
}

#[test]
fn long_values_and_many_faults_are_cut_short() {
    let long = format!(r#"{{"sql":"x","mode":"{}","limit":{}}}"#, "m".repeat(50), "7".repeat(50));
    assert_eq!(
        faults::<Query<'_>>(&long),
        "mode: must be one of \"fast\", \"very_exact\", \"best-effort\", is a longer string\n\
         limit: must be an integer from 1 to 1000, is a long number"
    );
    let many: String = (0..20).map(|n| format!("\"{n}\":0,")).collect();
    let many = format!("{{{many}\"z\":1}}");
    assert_eq!(faults::<Nothing>(&many).lines().count(), usize::from(MAX_FAULTS));
}

#[test]
fn text_of_the_peer_is_printable() {
    let words = faults::<Nothing>("{\"\u{202e}\\n\":\"\u{9b}\"}");
    assert_eq!(words, r"\u202e\n: is unknown, must be left out");
    let words = faults::<Query<'_>>("{\"sql\":\"\",\"mode\":\"\u{9b}\"}");
    assert!(words.ends_with(r#"is "\u009b""#), "{words}");
}

#[test]
fn a_field_narrows_the_limits_of_its_type() {
    #[derive(Input)]
    #[allow(dead_code, reason = "only checked")]
    struct Name(#[arg(length = 1..=20, format = "email")] String);
    #[derive(Input)]
    #[allow(dead_code, reason = "only checked")]
    struct Account {
        #[arg(length = ..=8)]
        name: Name,
    }
    let expected = "name: must be a string of 1 to 8 characters in the format email, has 0";
    assert_eq!(faults::<Account>(r#"{"name":""}"#), expected);
}

#[test]
fn an_integer_of_any_size_is_named_without_its_bounds() {
    #[derive(Input)]
    #[allow(dead_code, reason = "only checked")]
    struct Any {
        number: i64,
    }
    for (text, words) in [
        ("{}", "number: is missing, must be an integer of 64 bits"),
        (
            r#"{"number":9223372036854775808}"#,
            "number: must be an integer of 64 bits, is 9223372036854775808",
        ),
    ] {
        assert_eq!(Any::parse(RawJson::from_static(text)).err().unwrap().to_string(), words);
    }
}
