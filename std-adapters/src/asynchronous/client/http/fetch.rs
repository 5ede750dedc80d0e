//! One HTTP exchange that is none of MCP's: metadata, keys and tokens.

use std::time::Duration;
use std::{fmt, io, iter};

use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::{Origin, UrlError};
use mcp_sansio_http1::OwnedFields;
use mcp_sansio_oauth::{AddressKind, Url, UrlRules};

use super::connector::{Connector, Dial, Purpose};
use super::link::{connect, timeout};
use super::wire;

pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) purpose: Purpose,
    /// Addresses to which its connection may lead.
    pub(crate) rules: UrlRules,
    /// Fields besides `Host`, `Connection` and the length.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) limits: Limits,
}

/// Limits of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Of the whole exchange, redirects included.
    pub(crate) time: Duration,
    /// Of the body of the response.
    pub(crate) bytes: usize,
    /// Redirects that are followed: those of a GET, within the origin.
    pub(crate) redirects: u8,
}

/// A complete response with any status.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: OwnedFields,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn as_head(&self) -> ResponseHead<'_> {
        ResponseHead::new(self.status, &self.fields)
    }
}

// Omits the body, which may be a secret.
mcp_sansio::opaque_debug!(Answer { status });

/// The reason why there is no response. It has nothing of the request in it.
#[derive(Debug)]
pub(crate) enum FetchError {
    /// The URL is none of a server, or a field is invalid.
    Invalid(&'static str),
    /// The rules do not allow what the host is, or resolves to.
    Forbidden,
    /// No connection, or it ended before the response did.
    Network(io::Error),
    TimedOut,
    TooLarge,
    /// The response leads to another origin, or there were too many like it.
    Redirected,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => f.write_str(reason),
            Self::Forbidden => f.write_str(
                "the host is this computer or in an inner network: if it may be, allow inner \
                 addresses",
            ),
            Self::Network(error) => error.fmt(f),
            Self::TimedOut => f.write_str("no complete response in time"),
            Self::TooLarge => f.write_str("the response is too long"),
            Self::Redirected => f.write_str("redirected to another origin, or too often"),
        }
    }
}

impl From<UrlError> for FetchError {
    fn from(error: UrlError) -> Self {
        Self::Invalid(match error {
            UrlError::OtherOrigin => return Self::Redirected,
            _ => "invalid URL",
        })
    }
}

/// Sends a request on a connection of its own, and reads the response.
pub(crate) async fn fetch(connector: &Connector, request: &Request) -> Result<Answer, FetchError> {
    let url = Url::parse(&request.url).map_err(|_| FetchError::Invalid("invalid URL"))?;
    if !request.rules.allow(url.address_kind().unwrap_or(AddressKind::Public)) {
        return Err(FetchError::Forbidden);
    }
    timeout(request.limits.time, follow(connector, request))
        .await
        .unwrap_or(Err(FetchError::TimedOut))
}

async fn follow(connector: &Connector, request: &Request) -> Result<Answer, FetchError> {
    let (origin, target) = Origin::parse(&request.url)?;
    let mut target = target.to_owned();
    let redirects = request.limits.redirects;
    for _ in 0..=redirects {
        let answer = once(connector, request, origin, &target).await?;
        let location = answer.as_head().fields.get("location").map(str::to_owned);
        let Some(location) = location.filter(|_| {
            redirects > 0
                && request.method == "GET"
                && matches!(answer.status, 301 | 302 | 303 | 307 | 308)
        }) else {
            return Ok(answer);
        };
        target = origin.resolve(&target, &location)?.to_string();
    }
    Err(FetchError::Redirected)
}

async fn once(
    connector: &Connector,
    request: &Request,
    origin: Origin<'_>,
    target: &str,
) -> Result<Answer, FetchError> {
    let scheme = if origin.is_secure { "https" } else { "http" };
    let dial = Dial {
        host: origin.host.to_owned(),
        port: origin.port,
        is_secure: origin.is_secure,
        url: format!("{scheme}://{}{target}", origin.authority),
        purpose: request.purpose,
        rules: Some(request.rules),
    };
    let close = ("connection".to_owned(), "close".to_owned());
    let fields = iter::once(&close).chain(&request.fields);
    let has_body = request.method != "GET" || !request.body.is_empty();
    let body = has_body.then_some(request.body.as_slice());
    let bytes = wire::request(request.method, target, origin.authority, fields, body)
        .ok_or(FetchError::Invalid(wire::INVALID_FIELD))?;
    let connected = connect(connector, dial, request.limits.time).await;
    let mut wire = connected.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => FetchError::Forbidden,
        _ => FetchError::Network(error),
    })?;
    wire.send(request.method, &bytes).await.map_err(FetchError::Network)?;
    let head = wire.head(|head| (head.status, OwnedFields::from(head.fields))).await;
    let (status, fields) = head.map_err(FetchError::Network)?;
    let (body, is_cut) = wire.body(request.limits.bytes).await.map_err(FetchError::Network)?;
    if is_cut { Err(FetchError::TooLarge) } else { Ok(Answer { status, fields, body }) }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _, future};

    use super::super::connector::boxed;
    use super::*;
    use crate::asynchronous::JoinedIo;

    /// The bytes that were sent on each connection.
    pub(in crate::asynchronous::client::http) type Sent = Arc<Mutex<Vec<(Dial, piper::Reader)>>>;

    /// A server that gives these responses, one a connection; `None` gives none.
    pub(crate) fn server(responses: &[Option<String>]) -> (Connector, Sent) {
        let sent = Sent::default();
        let kept = Arc::clone(&sent);
        let responses: Vec<_> = responses.to_vec();
        let writers = Mutex::new(Vec::new());
        let connector = boxed(move |dial: Dial| {
            let ((input, requests), (output, mut responder)) =
                (piper::pipe(1 << 16), piper::pipe(1 << 16));
            let response = responses.get(kept.lock().unwrap().len()).cloned();
            kept.lock().unwrap().push((dial, input));
            match response {
                Some(Some(text)) => {
                    // The pipe has room for it. It is pending at times nevertheless.
                    future::block_on(responder.write_all(text.as_bytes())).unwrap();
                }
                _ => writers.lock().unwrap().push(responder),
            }
            async move { Ok(JoinedIo::new(output, requests)) }
        });
        (connector, sent)
    }

    fn ask(method: &'static str, url: &str) -> Request {
        Request {
            method,
            url: url.to_owned(),
            purpose: Purpose::Metadata,
            rules: UrlRules::new(),
            fields: vec![("accept".to_owned(), "application/json".to_owned())],
            body: Vec::new(),
            limits: LIMITS,
        }
    }

    const LIMITS: Limits = Limits { time: Duration::from_secs(5), bytes: 16, redirects: 3 };

    fn run(
        responses: &[Option<String>],
        request: &Request,
    ) -> (Result<Answer, FetchError>, Vec<(Dial, String)>) {
        let (connector, sent) = server(responses);
        let answer = async_io::block_on(fetch(&connector, request));
        drop(connector);
        let sent =
            std::mem::take(&mut *sent.lock().unwrap()).into_iter().map(|(dial, mut input)| {
                let mut text = String::new();
                future::block_on(input.read_to_string(&mut text)).unwrap();
                (dial, text)
            });
        let sent = sent.collect();
        (answer, sent)
    }

    fn response(status: u16, fields: &str, body: &str) -> Option<String> {
        let length = body.len();
        Some(format!("HTTP/1.1 {status} x\r\n{fields}content-length: {length}\r\n\r\n{body}"))
    }

    #[test]
    fn a_response_of_any_status_is_returned_with_its_fields() {
        for status in [200, 400, 500] {
            let served = [response(status, "x-y: z\r\n", "{}")];
            let url = "http://as.example:8080/a/b?c=d";
            let (answer, sent) = run(&served, &ask("GET", url));
            let answer = answer.unwrap();
            assert_eq!((answer.status, &answer.body[..]), (status, &b"{}"[..]));
            assert_eq!(answer.as_head().fields.get("X-Y"), Some("z"));
            let (dial, text) = &sent[0];
            assert_eq!(
                (dial.host.as_str(), dial.port, dial.purpose),
                ("as.example", 8080, Purpose::Metadata)
            );
            assert_eq!(
                text,
                "GET /a/b?c=d HTTP/1.1\r\nhost: as.example:8080\r\nconnection: close\r\n\
                 accept: application/json\r\n\r\n"
            );
        }
    }

    #[test]
    fn a_body_is_sent_with_its_length() {
        let request =
            Request { body: b"grant_type=x".to_vec(), ..ask("POST", "https://as.example/token") };
        let (answer, sent) = run(&[response(200, "", "")], &request);
        assert_eq!(answer.unwrap().body, b"");
        assert!(sent[0].0.is_secure);
        assert!(sent[0].1.ends_with("content-length: 12\r\n\r\ngrant_type=x"), "{}", sent[0].1);
    }

    #[test]
    fn auth_109_a_url_of_an_inner_address_is_not_connected_to() {
        for host in ["127.0.0.1", "localhost", "169.254.169.254", "[::ffff:10.0.0.1]", "10.1"] {
            let url = format!("http://{host}/a");
            let request = ask("GET", &url);
            let (answer, sent) = run(&[response(200, "", "ok")], &request);
            assert!(matches!(answer, Err(FetchError::Forbidden)) && sent.is_empty(), "{host}");
            let rules = UrlRules::new().inner_addresses(true);
            let request = Request { rules, ..request };
            let (answer, sent) = run(&[response(200, "", "ok")], &request);
            // The connector gets the rules, too: it knows what a name resolves to.
            assert!(answer.is_ok() && sent[0].0.rules == Some(rules), "{host}");
        }
        let refusing = boxed(|_: Dial| async {
            io::Result::<JoinedIo<piper::Reader, piper::Writer>>::Err(
                io::ErrorKind::PermissionDenied.into(),
            )
        });
        let request = ask("GET", "http://inner.example/a");
        let answer = async_io::block_on(fetch(&refusing, &request));
        assert!(matches!(answer, Err(FetchError::Forbidden)));
    }

    #[test]
    fn auth_110_redirects_are_followed_within_the_origin_and_few() {
        let moved = |to: &str| response(302, &format!("location: {to}\r\n"), "");
        let url = "http://as.example/a";
        let good = response(200, "", "ok");
        let served = [moved("/b"), moved("http://as.example/c"), moved("d"), good.clone()];
        let (answer, sent) = run(&served, &ask("GET", url));
        assert_eq!(answer.unwrap().body, b"ok");
        let urls: Vec<_> = sent.iter().map(|(dial, _)| dial.url.as_str()).collect();
        let paths = ["a", "b", "c", "d"].map(|path| format!("http://as.example/{path}"));
        assert_eq!(urls, paths);
        let served = [moved("/b"), moved("/b"), moved("/b"), moved("/b"), good.clone()];
        let (answer, sent) = run(&served, &ask("GET", url));
        assert!(matches!(answer, Err(FetchError::Redirected)) && sent.len() == 4);
        for elsewhere in [
            "http://evil.example/a",
            "https://as.example/a",
            "http://as.example:81/a",
            "//evil.example/a",
            "file:///etc/passwd",
        ] {
            let (answer, sent) = run(&[moved(elsewhere), good.clone()], &ask("GET", url));
            assert!(answer.is_err() && sent.len() == 1, "{elsewhere}");
        }
    }

    #[test]
    fn auth_80_what_is_posted_follows_no_redirect() {
        let served = [response(307, "location: /b\r\n", ""), response(200, "", "ok")];
        for (method, redirects) in [("POST", 3), ("GET", 0)] {
            let limits = Limits { redirects, ..LIMITS };
            let request = Request { limits, ..ask(method, "http://as.example/a") };
            let (answer, sent) = run(&served, &request);
            assert_eq!((answer.unwrap().status, sent.len()), (307, 1));
        }
    }

    #[test]
    fn auth_113_a_response_is_bounded_in_length_and_in_time() {
        let url = "http://as.example/a";
        let (answer, _) = run(&[response(200, "", "sixteen bytes ok")], &ask("GET", url));
        assert!(answer.is_ok());
        let (answer, _) = run(&[response(200, "", "seventeen bytes !")], &ask("GET", url));
        assert!(matches!(answer, Err(FetchError::TooLarge)));
        let endless = format!("HTTP/1.1 200 x\r\nx: {}", "y".repeat(60 << 10));
        for served in [None, Some(endless[..100].to_owned())] {
            let limits = Limits { time: Duration::from_millis(20), ..LIMITS };
            // An incomplete response is lost, or late where the connection stays open.
            let request = Request { limits, ..ask("GET", url) };
            let (answer, _) = run(std::slice::from_ref(&served), &request);
            match served {
                None => assert!(matches!(answer, Err(FetchError::TimedOut)), "{answer:?}"),
                Some(_) => assert!(matches!(answer, Err(FetchError::Network(_))), "{answer:?}"),
            }
        }
    }

    #[test]
    fn auth_114_what_cannot_be_a_field_or_a_url_is_not_sent() {
        let url = "http://as.example/a";
        let fields = vec![("authorization".to_owned(), "Basic x\r\ny: z".to_owned())];
        let request = Request { fields, ..ask("POST", url) };
        let (answer, sent) = run(&[], &request);
        assert!(matches!(answer, Err(FetchError::Invalid(_))) && sent.is_empty());
        for url in ["ftp://as.example/", "http://a b/", "http://u:p@as.example/", "/a"] {
            let (answer, sent) = run(&[], &ask("GET", url));
            assert!(matches!(answer, Err(FetchError::Invalid(_))) && sent.is_empty(), "{url}");
        }
    }
}
