//! Header fields of modern requests that mirror the body.

use super::host::{Answer, Host, modern, modern_of};

/// A call of the tool whose arguments are mirrored.
fn region(host: &mut Host, arguments: &str, fields: &[(&str, &str)]) -> Answer {
    let fields: Vec<_> =
        [("Mcp-Name", "region")].into_iter().chain(fields.iter().copied()).collect();
    let params = format!(r#"{{"name":"region","arguments":{arguments}}}"#);
    host.send(&modern("tools/call", &params, &fields))
}

fn is_refused(answer: &Answer) -> bool {
    answer.error() == (400, -32020) && answer.json()["id"] == 7
}

#[test]
fn http_32_http_33_hdr_25_hdr_26_hdr_28_the_version_is_repeated_exactly() {
    let mut host = Host::new();
    for version in ["2025-11-25", "2026-07-29", "(none)", "2026-07-28, 2026-07-28", ""] {
        let answer = host.send(&modern("tools/list", "{}", &[("MCP-Protocol-Version", version)]));
        assert!(is_refused(&answer), "{version}: {answer:?}");
    }
    let twice = modern("tools/list", "{}", &[])
        .replace("Host:", "mcp-protocol-version: 2026-07-28\r\nHost:");
    assert!(is_refused(&host.send(&twice)));
    // Head and body agree on an unsupported version.
    assert_eq!(host.send(&modern_of("2027-01-01", "tools/list", "{}", &[])).error(), (400, -32022));
}

#[test]
fn hdr_25_hdr_26_hdr_28_hdr_30_hdr_31_hdr_33_method_and_name_are_repeated() {
    let mut host = Host::new();
    let call = |fields: &[(&str, &str)]| modern("tools/call", r#"{"name":"echo"}"#, fields);
    for fields in [
        &[("Mcp-Method", "(none)"), ("Mcp-Name", "echo")][..],
        &[("Mcp-Method", "tools/list"), ("Mcp-Name", "echo")],
        &[("Mcp-Method", "TOOLS/CALL"), ("Mcp-Name", "echo")],
        &[("Mcp-Name", "ECHO")],
        &[("Mcp-Name", "slow")],
        &[("Mcp-Name", "")],
        &[("Mcp-Name", "echo"), ("mcp-name", "echo")],
        &[],
    ] {
        let answer = host.send(&call(fields));
        assert!(is_refused(&answer), "{fields:?}: {answer:?}");
    }
    for fields in [
        &[("Mcp-Name", "echo")][..],
        &[("mcp-NAME", " \t echo \t")],
        &[("MCP-NAME", "=?base64?ZWNobw==?=")],
    ] {
        assert_eq!(host.send(&call(fields)).status, 200, "{fields:?}");
    }
    // An unknown method takes precedence over other errors.
    let unknown = modern("no/such", "{}", &[("Mcp-Method", "(none)")]);
    assert_eq!(host.send(&unknown).error(), (404, -32601));
}

#[test]
fn hdr_11_hdr_23_hdr_24_hdr_25_hdr_27_hdr_28_arguments_are_mirrored_where_the_tool_declares_it() {
    let mut host = Host::new();
    for (arguments, fields) in [
        ("{}", &[][..]),
        (r#"{"region":null}"#, &[]),
        (r#"{"region":"us-west1"}"#, &[("Mcp-Param-Region", "us-west1")]),
        (r#"{"region":""}"#, &[("Mcp-Param-Region", "")]),
        (r#"{"region":"Hello, 世界"}"#, &[("mcp-param-region", "=?base64?SGVsbG8sIOS4lueVjA==?=")]),
        (
            r#"{"region":"Hello, \u4e16\u754c"}"#,
            &[("mcp-param-region", "=?base64?SGVsbG8sIOS4lueVjA==?=")],
        ),
        (r#"{"region":" padded "}"#, &[("Mcp-Param-Region", "=?base64?IHBhZGRlZCA=?=")]),
        (r#"{"region":"x","other":"y"}"#, &[("Mcp-Param-Region", "x"), ("Mcp-Param-Unknown", "z")]),
        (r#"{"dry":false}"#, &[("Mcp-Param-Dry-Run", "false")]),
        (r#"{"inner":{"zone":"a"}}"#, &[("Mcp-Param-Zone", "a")]),
        (r#"{"inner":{}}"#, &[]),
    ] {
        let answer = region(&mut host, arguments, fields);
        assert_eq!(answer.status, 200, "{arguments} {fields:?}: {answer:?}");
        assert!(answer.json().get("result").is_some());
    }
    for (arguments, fields, why) in [
        (r#"{"region":"us-west1"}"#, &[][..], "missing"),
        (r#"{"region":"us-west1"}"#, &[("Mcp-Param-Region", "us-west2")], "differs"),
        (r#"{"region":"us-west1"}"#, &[("Mcp-Param-Region", "US-WEST1")], "differs"),
        (
            r#"{"region":"us-west1"}"#,
            &[("Mcp-Param-Region", "us-west1"), ("mcp-param-region", "us-west1")],
            "differs",
        ),
        (r#"{"region":"世"}"#, &[("Mcp-Param-Region", "世")], "differs"),
        (r#"{"region":"Hello"}"#, &[("Mcp-Param-Region", "=?base64?SGVsbG8?=")], "differs"),
        ("{}", &[("Mcp-Param-Region", "us-west1")], "repeats an argument that is missing"),
        (r#"{"region":null}"#, &[("Mcp-Param-Region", "null")], "repeats an argument"),
        (r#"{"dry":true}"#, &[("Mcp-Param-Dry-Run", "TRUE")], "differs"),
        (r#"{"inner":{"zone":"a"}}"#, &[], "missing"),
    ] {
        let answer = region(&mut host, arguments, fields);
        assert!(is_refused(&answer), "{arguments} {fields:?}: {answer:?}");
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(why), "{arguments} {fields:?}: {message}");
    }
}

#[test]
fn hdr_17_hdr_29_integers_are_compared_as_numbers_and_have_a_range() {
    let mut host = Host::new();
    for (number, field, is_equal) in [
        ("42", "42", true),
        ("42", "42.0", true),
        ("42.0", "42", true),
        ("-7", "-7", true),
        ("9007199254740991", "9007199254740991", true),
        ("42", "43", false),
        ("42", "x", false),
        ("9007199254740992", "9007199254740992", false),
        ("1.5", "1.5", false),
        ("[42]", "42", false),
    ] {
        let count = format!(r#"{{"count":{number}}}"#);
        let answer = region(&mut host, &count, &[("Mcp-Param-Count", field)]);
        let is_right = if is_equal { answer.status == 200 } else { is_refused(&answer) };
        assert!(is_right, "{number} {field}: {answer:?}");
    }
}

#[test]
fn hdr_09_hdr_34_base64_markers_are_exact_and_other_values_are_literal() {
    let mut host = Host::new();
    for text in ["=?BASE64?SGVsbG8=?=", "=?base64?SGVsbG8=", "SGVsbG8=?=", "SGVsbG8="] {
        let arguments = format!(r#"{{"region":"{text}"}}"#);
        let answer = region(&mut host, &arguments, &[("Mcp-Param-Region", text)]);
        assert_eq!(answer.status, 200, "{text}");
    }
    let mut literal = |field| {
        let literal = r#"{"region":"=?base64?literal?="}"#;
        region(&mut host, literal, &[("Mcp-Param-Region", field)])
    };
    assert_eq!(literal("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=").status, 200);
    assert!(is_refused(&literal("=?base64?literal?=")));
}
