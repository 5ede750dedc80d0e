//! What is read.

use mcp_sansio::RawJson;
use mcp_sansio::typed::InputObject;

use crate::zoo::*;

fn read<'a, T: InputObject<'a>>(json: &'a str) -> T {
    T::parse(RawJson::parse(json).expect("it is JSON")).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn members_are_read_in_any_order_and_any_spelling() {
    let query: Query<'_> = read(
        r#" { "l\u0069mit" : 1e1 , "columns":[{"ascending":true,"columnName":"a\nb"},
        {"type":"big-integer","columnName":"b","ascending":false}], "mode":"very\u005fexact",
        "sql":"SELECT \u0031", "tags" : [ "x" , "\ty" ] } "#,
    );
    assert_eq!(query.sql, "SELECT 1");
    assert_eq!(query.limit, 10);
    assert_eq!(query.mode, Mode::VeryExact);
    let tags: Vec<String> = query.tags.unwrap().iter().map(|tag| tag.to_string()).collect();
    assert_eq!(tags, ["x", "\ty"]);
    let columns = query.columns.unwrap();
    assert_eq!(columns.len(), 2);
    assert!(columns[0].ascending && columns[0].kind.is_none());
    assert_eq!(columns[0].column_name, "a\nb");
    assert_eq!(columns[1].kind, Some(Kind::BigInteger));
}

#[test]
fn text_is_borrowed_where_it_stands() {
    let json = String::from(r#"{"sql":"SELECT 1"}"#);
    let query: Query<'_> = read(&json);
    let plain = query.sql.as_plain().unwrap();
    assert!(json.as_bytes().as_ptr_range().contains(&plain.as_ptr()));
}

#[test]
fn missing_members_and_null_are_none_or_the_default() {
    for json in [
        r#"{"sql":"x"}"#,
        r#"{"sql":"x","limit":null,"mode":null,"tags":null,"columns":null,"region":null}"#,
    ] {
        let query: Query<'_> = read(json);
        assert_eq!((query.limit, query.mode), (100, Mode::Fast));
        assert_eq!(query.region, "eu\"west\"");
        assert!(query.tags.is_none() && query.columns.is_none());
    }
    let drawing: Drawing<'_> = read(r#"{"shapes":[{"kind":"nothing"}],"origin":{"x":3}}"#);
    assert_eq!(drawing.origin, Point { x: 3, y: -1 });
    assert!(!drawing.is_filled);
    assert_eq!(drawing.opacity, 0.5);
}

#[test]
fn the_tag_may_stand_anywhere() {
    let drawing: Drawing<'_> = read(
        r#"{"shapes":[{"radius":2,"kind":"circle","label":"a"},{"kind":"line","from":{"x":1},"to":
        {"x":2,"y":7,"z":9}},{"to":{"x":2},"\u006bind":"l\u0069ne","from":{"x":1}},
        {"kind":"nothing"}],"origin":{"x":0},"angle":359,"opacity":1.5,"offset":-0.25,
        "scale":1e400,"is_filled":true,"type":{"any":[]}}"#,
    );
    match &drawing.shapes[..] {
        [
            Shape::Circle { radius: 2, label: Some(label) },
            Shape::Line(one),
            Shape::Line(two),
            Shape::Nothing,
        ] => {
            assert_eq!(*label, "a");
            assert_eq!((one.from, one.to), (Point { x: 1, y: -1 }, Point { x: 2, y: 7 }));
            assert_eq!((two.from, two.to), (Point { x: 1, y: -1 }, Point { x: 2, y: -1 }));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(drawing.angle, Some(Degrees(359)));
    assert_eq!(drawing.offset, Some(-0.25));
    assert_eq!(drawing.scale.unwrap().to_string(), "1e400");
    assert_eq!(drawing.r#type.unwrap().as_str(), r#"{"any":[]}"#);
}

#[test]
fn numbers_reach_their_bounds() {
    let least: Numbers = read(
        r#"{"a":0,"b":-128,"c":0,"d":-32768,"e":0,"f":-2147483648,"g":0,
        "h":-9223372036854775808,"i":-1e999,"j":-1e999}"#,
    );
    let expected = (Small(Some(0)), Some(-128), Some(0), Some(-32768));
    assert_eq!((least.a, least.b, least.c, least.d), expected);
    assert_eq!((least.e, least.f, least.g), (Some(0), Some(i32::MIN), Some(0)));
    assert_eq!((least.h, least.i, least.j), (Some(i64::MIN), Some(f32::MIN), Some(f64::MIN)));
    let most: Numbers = read(
        r#"{"a":255,"b":127,"c":65535,"d":32767,"e":4294967295,"f":2147483647,
        "g":9223372036854775807,"h":9223372036854775807,"i":0.1,"j":1e308}"#,
    );
    let expected = (Small(Some(255)), Some(127), Some(65535), Some(32767));
    assert_eq!((most.a, most.b, most.c, most.d), expected);
    assert_eq!((most.e, most.f, most.g), (Some(u32::MAX), Some(i32::MAX), Some(i64::MAX as u64)));
    assert_eq!((most.h, most.i, most.j), (Some(i64::MAX), Some(0.1), Some(1e308)));
    // A type that is written as an option may be missing as well.
    assert_eq!(read::<Numbers>("{}").a, Small(None));
}

#[test]
fn formats_accept_and_refuse() {
    let accepts = |member: &str, text: &str| {
        let json = format!("{{\"{member}\":{}}}", serde_json::to_string(text).unwrap());
        Formats::parse(RawJson::parse(&json).unwrap()).is_ok()
    };
    for (member, good, bad) in [
        (
            "date",
            &["2024-02-29", "2000-02-29", "2026-12-31"][..],
            &[
                "2026-02-29",
                "1900-02-29",
                "2026-13-01",
                "2026-00-01",
                "2026-04-31",
                "2026-1-01",
                "",
            ][..],
        ),
        (
            "date_time",
            &["2026-07-28T12:00:00Z", "2026-07-28t23:59:60.123z", "2026-07-28T00:00:00.5+02:00"],
            &[
                "2026-07-28",
                "2026-07-28T12:00:00",
                "2026-07-28 12:00:00Z",
                "2026-07-28T24:00:00Z",
                "2026-07-28T12:60:00Z",
                "2026-07-28T12:00:61Z",
                "2026-07-28T12:00:00.Z",
                "2026-07-28T12:00:00+0200",
                "2026-07-28T12:00:00Zz",
            ],
        ),
        (
            "email",
            &["a@b.c", "first.last+tag@sub-domain.example.com", "o'neil@localhost", "a-@b"],
            &[
                "", "a", "@b", "a@", "a@b@c", ".a@b", "a..b@c", "a.@b", "a b@c", "a@-b", "a@b-",
                "a@b.",
            ],
        ),
        (
            "uri",
            &["https://example.com/a?b=c#d", "mailto:a@b", "x:", "urn:isbn:1", "http://[::1]/%20"],
            &["", "//example.com", "1a:b", "a b:c", "http://a b", "http://\u{e9}", "x:%2", "x:%zz"],
        ),
        ("even", &["", "ab", "\u{1f600}\u{1f600}"], &["a", "0123456789"]),
    ] {
        for text in good {
            assert!(accepts(member, text), "{member} {text}");
        }
        for text in bad {
            assert!(!accepts(member, text), "{member} {text}");
        }
    }
}

#[test]
fn nothing_is_allocated() {
    let json = RawJson::from_static(r#"{"x":3,"y":4,"others":[1,2]}"#);
    let allocated = allocation_counter::measure(|| {
        assert_eq!(Point::parse(json).ok(), Some(Point { x: 3, y: 4 }));
        assert!(Point::parse(RawJson::EMPTY).is_err());
        assert_eq!(Nothing::parse(RawJson::EMPTY).ok(), Some(Nothing));
    });
    assert_eq!(allocated.count_total, 0);
}
