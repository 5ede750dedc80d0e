//! Answers of an authorization server, a resource and a browser.

use std::hint::black_box;

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{
    AuthorizationState, OAuthError, RedirectAnswer, ResourceMetadata, ServerMetadata, Setup, Step,
    TokenResponse, Url, WellKnownPath, Writer,
    form::{self, Form},
    resource_matches, scope,
};

use super::{Table, Work, join};

pub(super) const CASES: &Table = &[
    ("oauth: bytes of a path", |n| url(format!("https://a/{}", "x".repeat(10 * n)))),
    ("oauth: segments and queries of a URL", |n| url(format!("https://a/{}", "b/?c&".repeat(n)))),
    ("oauth: labels of a host", |n| url(format!("https://{}a/", "b.".repeat(n)))),
    ("oauth: numbers of a host", |n| url(format!("https://{}1/", "0x1.".repeat(n)))),
    ("oauth: digits of a host", |n| url(format!("https://0x{}/", "0".repeat(10 * n)))),
    ("oauth: groups of a host", |n| url(format!("https://[{}1]/", "1:".repeat(n)))),
    ("oauth: pairs of a query", |n| query("a=b&".repeat(n))),
    ("oauth: one value of a query", |n| query(format!("state={}", "%e2%82".repeat(n)))),
    ("oauth: broken escapes of a query", |n| query("%".repeat(10 * n))),
    ("oauth: a form that is written", |n| {
        let value = "a b\u{e9}&".repeat(n);
        let mut memory = vec![0; 20 * value.len()];
        Work::new(value.len(), move || {
            let mut out = Writer::new(&mut memory);
            Form::new(&mut out).pair("scope", &value);
            form::put_basic(&value, "secret", &mut out);
            black_box(out.finish().is_ok());
        })
    }),
    ("oauth: tokens of a scope", |n| {
        let challenge = "a ".repeat(10 * n);
        Work::new(challenge.len(), move || {
            black_box((scope::is_valid(&challenge), scope::contains_all("b c", &challenge)));
        })
    }),
    ("oauth: members of a document", |n| {
        document(format!("{{{}}}", join(n, |at| format!(r#""m{at}":{{"issuer":[{at}]}}"#))))
    }),
    ("oauth: members with escapes", |n| {
        document(format!("{{{}}}", join(n, |at| format!(r#""\u0069ssuer{at}":"\u0061""#))))
    }),
    ("oauth: elements of lists", |n| {
        let list = join(n, |at| format!(r#""s{at}""#));
        document(format!(r#"{{"resource":"r","issuer":"i","scopes_supported":[{list}]}}"#))
    }),
    ("oauth: issuers of a resource", |n| {
        let list = join(n, |_| r#""""#.to_owned());
        resource(format!(r#"{{"resource":"{ENDPOINT}","authorization_servers":[{list}]}}"#))
    }),
    ("oauth: an error with a long text", |n| {
        let text = r"\u001b\n".repeat(n);
        document(format!(r#"{{"error":"{text}","error_description":"{text}"}}"#))
    }),
    ("oauth: a document that is cut off", |n| {
        document(r#"{"issuer":"a"#.to_owned() + &"a".repeat(10 * n))
    }),
    ("oauth: entries of a record", |n| {
        let record = record(&[2, 0, 1, 0, b'x'].repeat(n));
        let mut state = AuthorizationState::new(vec![0; 20 * record.len()].into_boxed_slice());
        Work::new(record.len(), move || {
            assert_eq!(state.open(&SETUP).load(&record), Ok(()));
        })
    }),
];

const ENDPOINT: &str = "https://a/mcp";
const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Test");

/// Returns a record with these entries: key, group, length in two bytes, text.
fn record(entries: &[u8]) -> Vec<u8> {
    let entries = [&[1, 0, ENDPOINT.len() as u8, 0], ENDPOINT.as_bytes(), entries].concat();
    let len = u32::try_from(entries.len()).unwrap();
    // The version, the length, and the entries.
    [&[1], &len.to_le_bytes()[..], &entries].concat()
}

/// Takes the metadata of a resource, with long texts in memory.
fn resource(text: String) -> Work {
    let known = record(&[&[3, 0, 0, 0x20][..], &[b'x'; 0x2000]].concat());
    let mut state = AuthorizationState::new(vec![0; 16 << 10].into_boxed_slice());
    Work::new(text.len(), move || {
        let mut machine = state.open(&SETUP);
        assert_eq!(machine.load(&known), Ok(()));
        machine.begin();
        assert!(matches!(machine.step(None, &mut |_| {}), Step::Send(_)));
        machine.response(None, &ResponseHead::new(200, &[]), text.as_bytes());
        assert!(matches!(machine.step(None, &mut |_| {}), Step::Failed(_)));
    })
}

fn url(text: String) -> Work {
    Work::new(text.len(), move || {
        black_box(resource_matches(&text, &text));
        black_box(resource_matches("https://a/b", &text));
        if let Ok(url) = Url::parse(&text) {
            black_box(url.address_kind());
            black_box(
                url.well_known("oauth-authorization-server", WellKnownPath::Inserted).to_string(),
            );
        }
    })
}

fn query(text: String) -> Work {
    Work::new(text.len(), move || {
        if let Ok(answer) = RedirectAnswer::parse(&text) {
            black_box(answer.check("a", "b", true).is_ok());
        }
        for (name, value) in form::pairs(&text) {
            black_box((name.to_string(), value.to_string(), value.equals_secret("a")));
        }
    })
}

fn document(text: String) -> Work {
    Work::new(text.len(), move || {
        let body = text.as_bytes();
        if let Ok(read) = ServerMetadata::parse(body) {
            black_box((read.is_of_issuer("i"), read.scopes_supported.to_string()));
            black_box(read.scopes_supported.contains("zz"));
        }
        black_box(ResourceMetadata::parse(body).map(|read| read.scopes_supported.to_string())).ok();
        black_box(TokenResponse::parse(body).is_ok());
        black_box(OAuthError::parse(body).map(|error| error.to_string()));
    })
}
