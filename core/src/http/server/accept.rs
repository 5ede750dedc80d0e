//! Which types of content a client takes and sends.

use crate::http::Fields;

/// Whether the `Accept` fields cover this type, which is given as `application/json`.
pub(super) fn accepts(fields: &dyn Fields, wanted: &str) -> bool {
    let kind = wanted.split_once('/').map_or(wanted, |(kind, _)| kind);
    let covers = |range: &str| {
        let range = range.trim_matches(BLANK);
        range == "*/*"
            || range.eq_ignore_ascii_case(wanted)
            || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(kind))
    };
    let lists = fields.all("accept").filter_map(|list| core::str::from_utf8(list).ok());
    lists.flat_map(|list| list.split(',')).any(|entry| {
        let mut parts = entry.split(';');
        // With a weight of zero it is named only to say no.
        parts.next().is_some_and(covers) && !parts.any(is_zero)
    })
}

/// Whether the body is JSON, as far as its `Content-Type` says anything.
pub(super) fn is_json(content_type: &str) -> bool {
    content_type
        .split(';')
        .next()
        .is_some_and(|kind| kind.trim_matches(BLANK).eq_ignore_ascii_case("application/json"))
}

fn is_zero(parameter: &str) -> bool {
    let parameter = parameter.trim_matches(BLANK);
    let weight = parameter.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, weight)| {
        weight.starts_with('0') && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

const BLANK: [char; 2] = [' ', '\t'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_what_they_say() {
        let accepts = |list: &str, wanted| accepts(&[("Accept", list)], wanted);
        for list in [
            "application/json, text/event-stream",
            "*/*",
            "text/*;q=0.5 ,\tAPPLICATION/JSON; q=1",
            "text/html, */*;q=0.8",
        ] {
            assert!(
                accepts(list, "application/json") && accepts(list, "text/event-stream"),
                "{list}"
            );
        }
        for list in [
            "",
            "application/json-rpc",
            "text/html",
            "application/json;q=0",
            "application/json ; Q=0.00",
            "*",
            "json",
        ] {
            assert!(!accepts(list, "application/json"), "{list}");
        }
        assert!(super::accepts(
            &[("Accept", "text/html"), ("accept", "application/json")],
            "application/json"
        ));
        assert!(!super::accepts(&[] as &[(&str, &str); 0], "application/json"));
    }

    #[test]
    fn json_may_have_parameters() {
        assert!(is_json("application/json") && is_json(" Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/json-rpc") && !is_json(""));
    }
}
