//! A client for pages: the engine's [`HttpClient`] as a component. `page.js` sends its requests
//! with `fetch`; `wit/client.wit` is what both agree on.

use std::cell::RefCell;
use std::collections::VecDeque;

use example::page::host;
use exports::example::page::mcp;
use mcp::{Finished, Progress, Request, Step};
use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::Origin;
use mcp_sansio::types::Implementation;
use mcp_sansio::{CallOptions, ClientConfig, ClientEvent, ClientFeatures, Instant, RawJson};
use mcp_sansio_engine::{
    CallId, ClientEngine, ConnectState, Driver, HttpClient, HttpError, HttpExchangeId, HttpLimits,
    HttpStep, InputResponse, Limits, Question, Reading,
};

wit_bindgen::generate!({ path: "wit" });
export!(Component);

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("page", "0.1.0"), ClientFeatures::NONE);

struct Component;

impl mcp::Guest for Component {
    type Client = Shared;
}

/// A client behind a shared reference, which is all that a method of a component gets.
struct Shared(RefCell<Client>);

impl mcp::GuestClient for Shared {
    fn connect(now: u64, url: String) -> Result<mcp::Client, String> {
        let (origin, target) = Origin::parse(&url).map_err(|error| error.to_string())?;
        let mut client = Client {
            engine: ClientEngine::new(&CONFIG, Limits::new()),
            http: HttpClient::new(&origin, target, HttpLimits::new()),
            page: Page::default(),
            calls: Numbers::default(),
            exchanges: Numbers::default(),
        };
        client.engine.set_over_http(true);
        let now = Instant::from_millis(now);
        client.engine.connect(now, &mut client.page).map_err(|error| error.to_string())?;
        Ok(mcp::Client::new(Self(RefCell::new(client))))
    }

    fn connected(&self, now: u64) -> u32 {
        let Client { engine, calls, .. } = &mut *self.0.borrow_mut();
        calls.add(engine.when_connected(Instant::from_millis(now), CONFIG.call_limit))
    }

    fn call(&self, now: u64, method: String, params: String) -> Result<u32, String> {
        let Client { engine, calls, page, .. } = &mut *self.0.borrow_mut();
        let params = RawJson::parse(&params).map_err(|error| error.to_string())?;
        let (now, options) = (Instant::from_millis(now), CallOptions::new().progress(true));
        let call = engine.call(now, &method, &params, options, page);
        call.map(|call| calls.add(call)).map_err(|error| error.to_string())
    }

    fn cancel(&self, now: u64, call: u32) {
        let Client { engine, calls, page, .. } = &mut *self.0.borrow_mut();
        if let Some(call) = calls.take(call) {
            engine.cancel(Instant::from_millis(now), call, None, page);
        }
    }

    fn next(&self, now: u64) -> Option<Step> {
        self.0.borrow_mut().next(Instant::from_millis(now))
    }

    fn due(&self) -> Option<u64> {
        let Client { engine, http, .. } = &mut *self.0.borrow_mut();
        let due = [engine.poll_timeout(), http.poll_timeout()].into_iter().flatten().min()?;
        Some(due.as_millis())
    }

    fn response(&self, now: u64, exchange: u32, status: u16, fields: mcp::Fields) {
        let Client { http, exchanges, .. } = &mut *self.0.borrow_mut();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        if let Some(exchange) = exchanges.get(exchange) {
            let fields = &*fields;
            let head = ResponseHead::new(status, &fields);
            http.response(Instant::from_millis(now), exchange, &head);
        }
    }

    fn body(&self, now: u64, exchange: u32, piece: Vec<u8>) {
        let Client { http, exchanges, .. } = &mut *self.0.borrow_mut();
        if let Some(exchange) = exchanges.get(exchange) {
            http.body(Instant::from_millis(now), exchange, &piece);
        }
    }

    fn end(&self, now: u64, exchange: u32, is_complete: bool) {
        let Client { http, exchanges, .. } = &mut *self.0.borrow_mut();
        if let Some(exchange) = exchanges.take(exchange) {
            let result = if is_complete { Ok(()) } else { Err(HttpError::ConnectionLost) };
            http.end(Instant::from_millis(now), exchange, result);
        }
    }

    fn close(&self, now: u64) {
        let Client { engine, http, page, .. } = &mut *self.0.borrow_mut();
        engine.end(page);
        http.close(Instant::from_millis(now));
    }
}

struct Client {
    engine: ClientEngine<'static>,
    http: HttpClient,
    page: Page,
    calls: Numbers<CallId>,
    exchanges: Numbers<HttpExchangeId>,
}

impl Client {
    fn next(&mut self, now: Instant) -> Option<Step> {
        self.http.handle_timeout(now);
        if self.engine.handle_timeout(now, true, &mut self.page).is_err() {
            self.engine.end(&mut self.page);
        }
        loop {
            while self.engine.step(now, &mut self.page) {}
            self.http.take_posts(now, &mut self.engine);
            if let Some(step) = self.http.next_step(now) {
                match self.http_step(now, step) {
                    Some(step) => return Some(step),
                    None => continue,
                }
            }
            let over = |exchange: &HttpExchangeId| self.http.reading(*exchange) == Reading::Over;
            if let Some(number) = self.exchanges.take_if(over) {
                return Some(Step::Abort(number));
            }
            if let Some(received) = self.http.next_received() {
                received.hand_to(&mut self.engine, now, &mut self.page);
                continue;
            }
            if self.http.take_failure().is_some() {
                self.engine.end(&mut self.page);
            }
            if let Some((call, params)) = self.page.progress.pop_front() {
                let Some(call) = self.calls.of(call) else { continue };
                return Some(Step::Progress(Progress { call, params }));
            }
            let finished = self.engine.take_any()?;
            let Some(call) = self.calls.take_if(|call| *call == finished.id) else { continue };
            let outcome = match (finished.result, self.engine.connect_state()) {
                (Ok(result), _) => Ok(result.as_json().as_str().to_owned()),
                (Err(_), ConnectState::Failed(error)) => Err(error.to_string()),
                (Err(error), _) => Err(error.to_string()),
            };
            return Some(Step::Finished(Finished { call, outcome }));
        }
    }

    fn http_step(&mut self, now: Instant, step: HttpStep) -> Option<Step> {
        match step {
            HttpStep::Send { exchange, method, target } => {
                let request = self.http.request(now, exchange)?;
                let (fields, body) = (request.fields, request.body.map(<[u8]>::to_vec));
                let (exchange, method) = (self.exchanges.add(exchange), method.to_owned());
                Some(Step::Send(Request { exchange, method, target, fields, body }))
            }
            HttpStep::Close(over) => {
                self.exchanges.take_if(|exchange| *exchange == over).map(Step::Abort)
            }
            HttpStep::Report(diagnostic) => Some(Step::Report(diagnostic.to_string())),
        }
    }
}

/// The page as the engine sees it: it answers no questions.
#[derive(Default)]
struct Page {
    progress: VecDeque<(CallId, String)>,
}

impl Driver for Page {
    fn unix_ms(&mut self) -> u64 {
        host::unix_ms()
    }

    fn random(&mut self) -> u32 {
        host::random()
    }

    fn asked(&mut self, _: Question<'_>) -> Option<InputResponse> {
        None
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        if let (Some(call), ClientEvent::Progress { params, .. }) = (about, event) {
            self.progress.push_back((call, params.as_str().to_owned()));
        }
    }
}

/// Numbers for ids, by which the page knows calls and exchanges that are not over.
struct Numbers<T> {
    last: u32,
    known: Vec<(u32, T)>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { last: 0, known: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Numbers<T> {
    fn add(&mut self, id: T) -> u32 {
        self.last += 1;
        self.known.push((self.last, id));
        self.last
    }

    fn get(&self, number: u32) -> Option<T> {
        self.known.iter().find(|(known, _)| *known == number).map(|(_, id)| *id)
    }

    fn of(&self, id: T) -> Option<u32> {
        self.known.iter().find(|(_, known)| *known == id).map(|(number, _)| *number)
    }

    fn take(&mut self, number: u32) -> Option<T> {
        let at = self.known.iter().position(|(known, _)| *known == number)?;
        Some(self.known.swap_remove(at).1)
    }

    fn take_if(&mut self, is_it: impl Fn(&T) -> bool) -> Option<u32> {
        let at = self.known.iter().position(|(_, id)| is_it(id))?;
        Some(self.known.swap_remove(at).0)
    }
}
