//! Validation of trace contexts: W3C Trace Context (`traceparent`, `tracestate`) and W3C Baggage.

/// Whether the text is a version, a trace id, a parent id and flags in lower-case hexadecimal;
/// later versions may append more.
pub(crate) fn is_traceparent(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut part = |len: usize| {
        let part = parts.next().unwrap_or_default();
        (part.len() == len
            && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
        .then_some(part)
    };
    let (Some(version), Some(trace), Some(parent), Some(_)) =
        (part(2), part(32), part(16), part(2))
    else {
        return false;
    };
    let zero = |id: &str| id.bytes().all(|b| b == b'0');
    version != "ff" && !zero(trace) && !zero(parent) && (version != "00" || parts.next().is_none())
}

/// Whether the text is a list of at most 32 pairs of a unique key and a value.
pub(crate) fn is_tracestate(text: &str) -> bool {
    let members = || text.split(',').map(trim).filter(|member| !member.is_empty());
    members().count() <= 32
        && members().enumerate().all(|(at, member)| {
            let Some((key, value)) = member.split_once('=') else { return false };
            is_state_key(key)
                && (1..=256).contains(&value.len())
                && value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'=')
                && !members()
                    .take(at)
                    .any(|other| other.split_once('=').is_some_and(|(before, _)| before == key))
        })
}

/// Whether the text is a list of pairs of a token and a percent-encoded value, with optional
/// properties after semicolons.
pub(crate) fn is_baggage(text: &str) -> bool {
    text.split(',').all(|member| {
        let mut parts = member.split(';').map(trim);
        parts.next().is_some_and(|pair| pair.contains('=') && is_pair(pair)) && parts.all(is_pair)
    })
}

fn is_state_key(key: &str) -> bool {
    let name = |part: &str, most: usize, digit_first: bool| {
        part.len() <= most
            && part
                .starts_with(|c: char| c.is_ascii_lowercase() || digit_first && c.is_ascii_digit())
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-*/".contains(&b))
    };
    match key.split_once('@') {
        Some((tenant, system)) => name(tenant, 241, true) && name(system, 14, false),
        None => name(key, 256, true),
    }
}

/// Whether the text is `key` or `key=value`.
fn is_pair(text: &str) -> bool {
    let (key, value) =
        text.split_once('=').map_or((text, ""), |(key, value)| (trim(key), trim(value)));
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let octet = |b: u8| matches!(b, b'!'..=b'~') && !b"\",;\\".contains(&b);
    !key.is_empty() && key.bytes().all(token) && value.bytes().all(octet)
}

/// Removes optional white space: spaces and tabs.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_17_a_traceparent_is_four_hexadecimal_numbers() {
        for good in [
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings",
        ] {
            assert!(is_traceparent(good), "{good}");
        }
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }

    #[test]
    fn meta_17_a_tracestate_has_keys_and_values() {
        for good in [
            "",
            "rojo=00f067aa0ba902b7",
            "rojo=1,congo=t61rcWkgMzE",
            "a@b=1, 0c/d*e_f-=x y",
            "a=1,,b=2",
            "0a@sys=1",
        ] {
            assert!(is_tracestate(good), "{good}");
        }
        for bad in [
            "rojo",
            "Rojo=1",
            "=1",
            "rojo=",
            "rojo=1,rojo=2",
            "a=b=c",
            "a@0b=1",
            "a@b@c=1",
            "a=\u{e9}",
            "_a=1",
        ] {
            assert!(!is_tracestate(bad), "{bad}");
        }
        let full = "a1=1,a2=1,a3=1,a4=1,a5=1,a6=1,a7=1,a8=1,b1=1,b2=1,b3=1,b4=1,b5=1,b6=1,b7=1,b8=1,\
                    c1=1,c2=1,c3=1,c4=1,c5=1,c6=1,c7=1,c8=1,d1=1,d2=1,d3=1,d4=1,d5=1,d6=1,d7=1,d8=1,e=1";
        assert!(
            !is_tracestate(full) && is_tracestate(full.strip_suffix(",e=1").unwrap_or_default())
        );
    }

    #[test]
    fn meta_17_a_baggage_has_tokens_and_encoded_values() {
        for good in [
            "userId=alice",
            "a=1,b=2",
            "key = value ; prop ; other=1 , k2=%20x",
            "serverNode=DF%2028",
            "a=",
        ] {
            assert!(is_baggage(good), "{good}");
        }
        for bad in [
            "", "a", "=1", "a=1,", "a b=1", "a=\"1\"", "a=x y", "a=1;", "a=\\", "a=\u{e9}",
            "\u{e9}=1",
        ] {
            assert!(!is_baggage(bad), "{bad}");
        }
    }

    #[test]
    fn keys_and_values_have_greatest_lengths() {
        extern crate std;
        let text = |len: usize| "a".repeat(len);
        for (state, good) in [
            (std::format!("{}=1", text(256)), true),
            (std::format!("{}=1", text(257)), false),
            (std::format!("{}@{}=1", text(241), text(14)), true),
            (std::format!("{}@{}=1", text(242), text(14)), false),
            (std::format!("{}@{}=1", text(241), text(15)), false),
            (std::format!("a={}", text(256)), true),
            (std::format!("a={}", text(257)), false),
        ] {
            assert_eq!(is_tracestate(&state), good, "{}", state.len());
        }
    }
}
