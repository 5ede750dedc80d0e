//! Lists as iterators of pages.

use std::sync::atomic::Ordering::Relaxed;

use mcp_sansio::Era;
use mcp_sansio_adapters::blocking::client::{List, Tools};

use super::scripted::{Scene, Scripted};
use super::*;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Runs a client against a server of which each page takes some milliseconds and has one tool.
/// `next` gets the number of a page and returns the cursor of the next; an error is the response.
fn list<R>(
    era: Era,
    each_takes: u64,
    next: impl Fn(u64) -> Result<Option<u64>, i32> + Send + 'static,
    work: impl FnOnce(&mut Client<'_>, &dyn Fn() -> usize) -> R,
) -> (R, Vec<u64>) {
    let scene = Arc::<Scene>::default();
    let (seen, time) = (Arc::<Mutex<Vec<u64>>>::default(), Arc::clone(&scene));
    let asked = Arc::clone(&seen);
    let server = Scripted::new(&scene, move |message| {
        if message["method"] != "tools/list" {
            return limits::silent(message);
        }
        time.clock.fetch_add(each_takes, Relaxed);
        let number =
            message["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
        asked.lock().unwrap().push(number);
        let tool = json!({"name": number.to_string(), "inputSchema": {"type": "object"}});
        let mut page =
            json!({"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"});
        let mut response = json!({"jsonrpc": "2.0", "id": message["id"]});
        match next(number) {
            Ok(next) => {
                if let Some(next) = next {
                    page["nextCursor"] = next.to_string().into();
                }
                response["result"] = page;
            }
            Err(code) => response["error"] = json!({"code": code, "message": "no page"}),
        }
        vec![response]
    });
    let config = CONFIG.call_timeout(TIMEOUT).call_limit(10 * TIMEOUT);
    let mut client = limits::connector(&config, &scene, era).connect(server).unwrap();
    let result = work(&mut client, &|| seen.lock().unwrap().len());
    drop(client);
    let seen = seen.lock().unwrap().clone();
    (result, seen)
}

fn names(page: &List<Tools>) -> Vec<String> {
    page.iter().map(|tool| tool.unwrap().name.to_string()).collect()
}

#[test]
fn each_page_is_requested_when_the_iterator_is_asked_for_it() {
    // The pages together take longer than the limit of a call, and a list, may.
    for (era, total, each_takes) in
        [(Era::Modern, 1, 0), (Era::Modern, 30, 1900), (Era::Modern, 999, 0), (Era::Legacy, 3, 0)]
    {
        let next = move |number| Ok((number + 1 < total).then_some(number + 1));
        let ((), seen) = list(era, each_takes, next, |client, asked| {
            let mut pages = client.pages::<Tools>(CallOptions::new());
            for number in 0..total {
                assert_eq!(asked() as u64, number);
                assert_eq!(names(&pages.next().unwrap().unwrap()), [number.to_string()]);
            }
            assert!(pages.next().is_none() && pages.next().is_none());
        });
        assert!(seen.into_iter().eq(0..total));
    }
}

#[test]
fn the_pages_of_a_list_have_the_time_of_one_call_together() {
    let next = |number| Ok(Some(number + 1));
    for (limit, seen_at_most) in [(None, 11), (Some(3 * TIMEOUT), 4)] {
        let mut options = CallOptions::new();
        options.limit = limit;
        let (error, seen) =
            list(Era::Modern, 1900, next, |client, _| client.list::<Tools>(options).unwrap_err());
        assert!(matches!(&error, Error::Call { error: CallError::TimedOut, .. }), "{error}");
        assert_eq!(seen.len(), seen_at_most);
    }
}

#[test]
fn an_iterator_of_pages_ends_with_its_first_error() {
    let next = |number| if number == 2 { Err(-32603) } else { Ok(Some(number + 1)) };
    let (error, seen) = list(Era::Modern, 0, next, |client, _| {
        let mut pages = client.pages::<Tools>(CallOptions::new());
        assert!(matches!(pages.next(), Some(Ok(_))) && matches!(pages.next(), Some(Ok(_))));
        let error = pages.next().unwrap().unwrap_err();
        assert!(pages.next().is_none() && pages.next().is_none());
        error
    });
    assert!(
        matches!(&error, Error::Call { error: CallError::Server(it), .. } if it.code == -32603),
        "{error}"
    );
    assert_eq!(seen, [0, 1, 2]);
}
