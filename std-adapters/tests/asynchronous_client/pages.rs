//! Lists as streams of pages.

use std::cell::RefCell;
use std::time::Duration;

use futures_lite::{StreamExt, future};
use mcp_sansio::{CallOptions, ErrorCode, RawJson, RpcError, ServerConfig, ServerEvent};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector, Tools};

use crate::script::{Session, play};
use crate::{CLIENT, LEGACY, MODERN};

/// Answer to a request for a page.
enum Answer {
    /// A page with one tool, named after the cursor of the page, and the cursor of the next one.
    Page(Option<usize>),
    Error,
    Nothing,
}

/// Runs a client against a server of such pages. Returns the requests for pages and their
/// cancellations, too.
fn list<R>(
    config: &'static ServerConfig<'static>,
    answer: impl Fn(usize) -> Answer,
    work: impl AsyncFnOnce(Client, &RefCell<Vec<String>>) -> R,
) -> (R, Vec<String>) {
    let seen = RefCell::new(Vec::new());
    let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
        ServerEvent::Request(request) => {
            let cursor = request.cursor().map(|cursor| cursor.to_string());
            let number = cursor.as_deref().map_or(0, |cursor| cursor.parse().unwrap());
            seen.borrow_mut().push(number.to_string());
            let next = match answer(number) {
                Answer::Page(next) => next.map(|next| format!(r#","nextCursor":"{next}""#)),
                Answer::Error => {
                    let error = RpcError::new(ErrorCode::InternalError, "no page");
                    session.server.respond_error(request.handle, &error, &mut session.tx).unwrap();
                    return;
                }
                Answer::Nothing => return,
            };
            let tool = format!(r#"{{"name":"{number}","inputSchema":{{"type":"object"}}}}"#);
            let page = format!(r#"{{"tools":[{tool}]{}}}"#, next.unwrap_or_default());
            let page = RawJson::parse(&page).unwrap();
            session.server.respond_raw(request.handle, page, &mut session.tx).unwrap();
        }
        ServerEvent::RequestCancelled { .. } => seen.borrow_mut().push("cancelled".into()),
        _ => {}
    };
    let work = async |client| work(client, &seen).await;
    let (result, _) = play(Connector::new(&CLIENT), config, script, work);
    (result, seen.into_inner())
}

/// Waits until the server has seen so many messages.
async fn until<T>(seen: &RefCell<Vec<String>>, many: usize) -> Option<T> {
    while seen.borrow().len() < many {
        future::yield_now().await;
    }
    None
}

#[test]
fn each_page_is_requested_when_the_stream_is_polled_for_it() {
    for (config, total) in [(&MODERN, 1), (&MODERN, 2), (&MODERN, 999), (&LEGACY, 3)] {
        let answer = |number| Answer::Page((number + 1 < total).then_some(number + 1));
        let ((), seen) = list(config, answer, async |client, seen| {
            let mut pages = client.pages::<Tools>(CallOptions::new());
            for number in 0..total {
                assert_eq!(seen.borrow().len(), number);
                let page = pages.next().await.unwrap().unwrap();
                let names: Vec<_> =
                    page.iter().map(|tool| tool.unwrap().name.to_string()).collect();
                assert_eq!(names, [number.to_string()]);
            }
            assert!(pages.next().await.is_none() && pages.next().await.is_none());
        });
        assert_eq!(seen.len(), total);
    }
}

#[test]
fn a_stream_of_pages_ends_with_its_first_error() {
    let (error, seen) = list(
        &MODERN,
        |number| if number == 2 { Answer::Error } else { Answer::Page(Some(number + 1)) },
        async |client, _| {
            let mut pages = client.pages::<Tools>(CallOptions::new());
            assert!(matches!(pages.next().await, Some(Ok(_))));
            assert!(matches!(pages.next().await, Some(Ok(_))));
            let error = pages.next().await.unwrap().unwrap_err();
            assert!(pages.next().await.is_none() && pages.next().await.is_none());
            error
        },
    );
    assert!(matches!(&error, CallError::Server(error) if error.message == "no page"), "{error}");
    assert_eq!(seen, ["0", "1", "2"]);
}

#[test]
fn a_page_whose_future_is_dropped_is_not_lost() {
    let answer = |number| Answer::Page((number < 2).then_some(number + 1));
    let (names, seen) = list(&LEGACY, answer, async |client, seen| {
        let mut pages = client.pages::<Tools>(CallOptions::new());
        let mut names = Vec::new();
        for number in 0..3 {
            // The future is dropped as soon as the server has the request.
            assert!(future::or(until(seen, number + 1), pages.next()).await.is_none());
            let page = pages.next().await.unwrap().unwrap();
            names.extend(page.iter().map(|tool| tool.unwrap().name.to_string()));
        }
        names
    });
    assert_eq!(names, ["0", "1", "2"]);
    assert_eq!(seen, ["0", "1", "2"]);
}

#[test]
fn a_stream_that_is_dropped_cancels_the_request_for_its_page() {
    for config in [&MODERN, &LEGACY] {
        let answer = |number| if number == 1 { Answer::Nothing } else { Answer::Page(Some(1)) };
        let ((), seen) = list(config, answer, async |client, seen| {
            let mut pages = client.pages::<Tools>(CallOptions::new());
            pages.next().await.unwrap().unwrap();
            assert!(future::or(until(seen, 2), pages.next()).await.is_none());
            drop(pages);
            let _: Option<()> = until(seen, 3).await;
            // The connection is still good for others.
            client.pages::<Tools>(CallOptions::new()).next().await.unwrap().unwrap();
        });
        assert_eq!(seen, ["0", "1", "cancelled", "0"]);
    }
}

#[test]
fn the_time_between_pages_counts_towards_no_limit() {
    let limit = Duration::from_millis(500);
    let answer = |number| Answer::Page((number == 0).then_some(1));
    let (pages, _) = list(&MODERN, answer, async |client, _| {
        let mut pages = client.pages::<Tools>(CallOptions::new().limit(limit));
        let first = pages.next().await;
        tokio::time::sleep(limit).await;
        [first, pages.next().await]
    });
    assert!(pages.iter().all(|page| matches!(page, Some(Ok(_)))), "{pages:?}");
}
