//! The application of a server, at random.

use std::time::Duration;

use mcp_sansio::types::{
    CreateMessageParams, ElicitParams, Field, LoggingLevel, RequestedSchema, SamplingMessage,
    StringSchema, TextResult,
};
use mcp_sansio::{
    Call, CallOutcome, Change, ClientFeatures, ClientRequest, Delivery, Encode, Json, LogMessage,
    Progress, RawJson, Remaining, Request, RequestHandle, RpcError, SendError, Server, ServerEvent,
    Tx,
};
use serde::Serialize;
use serde_json::Value;

use super::super::script::show;
use super::ledger::Ledger;
use super::world::{World, Writer};
use crate::delivery::respond;

#[derive(Default)]
pub(super) struct Application {
    pub(super) jobs: Vec<Job>,
    listening: Vec<RequestHandle>,
    calls: Vec<Call>,
    /// Handles of requests that have ended.
    gone: Vec<RequestHandle>,
}

#[derive(Clone)]
pub(super) struct Job {
    pub(super) handle: RequestHandle,
    id: Option<String>,
}

impl Application {
    pub(super) fn open(&self) -> usize {
        self.jobs.len() + self.listening.len()
    }

    pub(super) fn all_open(&self, server: &Server<'_>) -> bool {
        self.jobs.iter().all(|job| server.is_request_open(job.handle))
            && self.listening.iter().all(|listen| server.is_request_open(*listen))
            && self.calls.iter().all(|call| server.is_call_open(*call))
            && !self.gone.iter().any(|handle| server.is_request_open(*handle))
    }

    pub(super) fn forget_all(&mut self, server: &Server<'_>) {
        assert!(!self.calls.drain(..).any(|call| server.is_call_open(call)));
        self.gone.extend(self.jobs.drain(..).map(|job| job.handle).chain(self.listening.drain(..)));
    }

    /// Handles an event. `id` is that of the request, where it is known.
    pub(super) fn event(
        &mut self,
        ledger: &mut Ledger,
        server: &Server<'_>,
        event: &ServerEvent<'_>,
        id: Option<String>,
    ) {
        match event {
            ServerEvent::Request(request) => {
                assert!(server.is_request_open(request.handle));
                assert!(
                    id.is_none() || !self.jobs.iter().any(|job| job.id == id),
                    "two requests with the id {id:?} are open"
                );
                self.jobs.push(Job { handle: request.handle, id });
            }
            ServerEvent::Listening { request } => self.listening.push(*request),
            ServerEvent::RequestCancelled { request, .. } => {
                let job = self.forget(*request);
                ledger.forgive(job.and_then(|job| job.id).as_ref());
                assert!(!server.is_request_open(*request));
            }
            ServerEvent::RequestTimedOut { request } => {
                drop(self.forget(*request).expect("only requests have deadlines"))
            }
            ServerEvent::CallFinished { outcome: CallOutcome::Cancelled, .. } => {}
            ServerEvent::CallFinished { call, .. } => {
                let known = self.calls.extract_if(.., |known| known == call).next();
                known.expect("the response belongs to an open call");
            }
            _ => {}
        }
        // A request that ends takes its nested calls with it.
        self.calls.retain(|call| server.is_call_open(*call));
    }

    /// A request has become a subscription.
    pub(super) fn listens(&mut self, request: RequestHandle) {
        let job = self.jobs.extract_if(.., |job| job.handle == request).next();
        self.listening.extend(job.map(|job| job.handle));
    }

    /// A request has been answered, or has ended before.
    pub(super) fn answered(&mut self, request: RequestHandle) {
        if self.jobs.iter().any(|job| job.handle == request) {
            self.forget(request);
        }
    }

    /// Removes a request that has ended.
    fn forget(&mut self, request: RequestHandle) -> Option<Job> {
        self.gone.push(request);
        if self.listening.extract_if(.., |listen| *listen == request).next().is_some() {
            return None;
        }
        let job = self.jobs.extract_if(.., |job| job.handle == request).next();
        Some(job.expect("the request is open"))
    }
}

#[derive(Serialize)]
struct Echo<'f> {
    params: RawJson<'f>,
    text: &'f str,
}

impl<'d> World<'d> {
    pub(super) fn act(&mut self) {
        let what = self.script.below(16);
        show(format_args!("   {what} at {}", self.now));
        match what {
            0..2 => self.answer(),
            2..5 => self.progress(),
            5 => self.log(),
            6 | 7 => self.publish(),
            8 | 9 => self.ask(),
            10 => self.give_up_a_call(),
            11 if self.script.once_in(3) => self.cancel(None),
            12 => self.end_listen(),
            13 => self.input_required(),
            14 if self.script.once_in(2) => self.notify(),
            14 => self.work_on_tasks(),
            _ => self.use_ended_handles(),
        }
    }

    /// Tries other calls while the frame of `writer` is open.
    pub(super) fn intrude(&mut self, writer: Writer) {
        let what = self.script.below(6);
        show(format_args!("   (in between) {what}"));
        match what {
            0 if writer != Writer::NextEvent => self.overhear(),
            1 if writer != Writer::Timeout => {
                let now = self.instant();
                match self.attempt(|server, tx| server.handle_timeout(now, tx)) {
                    Ok(Some(event)) => self.saw(&event, None),
                    Ok(None) => {}
                    Err(error) => assert_eq!(error, SendError::Full),
                }
            }
            2 => {
                let job = self.job().filter(|job| Writer::Job(job.handle) != writer);
                if let Some(job) = job {
                    let written = self.attempt(|server, tx| {
                        server.respond(job.handle, &TextResult::new("in between"), tx)
                    });
                    assert_eq!(written, Err(SendError::Full));
                }
            }
            3 => {
                let message = LogMessage::new(LoggingLevel::Alert, "in between");
                let written = self.attempt(|server, tx| server.log_unrelated(&message, tx));
                assert_ne!(written, Ok(Delivery::Sent));
            }
            // Not while the server writes a frame of its own, which may belong to the cancelled
            // request.
            4 if !matches!(writer, Writer::NextEvent | Writer::Timeout) => {
                self.cancel(Some(writer))
            }
            _ => {}
        }
    }

    /// Responds at once, with the arguments as they were received.
    pub(super) fn echo(&mut self, request: &Request<'_>) {
        let text = "x".repeat(self.script.below(256) * self.script.below(8));
        let result = Echo { params: request.params.as_json(), text: &text };
        let Ok(answered) = self.result(request.handle, &Json(&result)) else { return };
        if self.answered(request.handle, answered) {
            // serde_json cannot read numbers beyond `f64`.
            let Ok(line) = serde_json::from_slice::<Value>(&self.ledger.last) else { return };
            let params: Value = serde_json::from_str(request.params.as_json().as_str()).unwrap();
            assert_eq!(
                (&line["result"]["params"], line["result"]["text"].as_str()),
                (&params, Some(text.as_str()))
            );
            assert_eq!(line["result"].get("resultType").is_some(), request.revision.is_modern());
        }
    }

    fn answer(&mut self) {
        let Some(Job { handle, .. }) = self.job() else { return };
        let text = "a \"text\"\n".repeat(self.script.below(64));
        let answered = match self.script.below(7) {
            0 => self.result(handle, &TextResult::new("ok")),
            1 => self.result(handle, &TextResult::error(&text)),
            2 => {
                let raw = r#"{ "a" : [ 1.50 ], "_meta": {"k": 1}, "resultType": "complete" }"#;
                let raw = RawJson::from_static(raw);
                self.respond(handle, |server, tx| server.respond_raw(handle, raw, tx))
            }
            3 => {
                // A result must be an object.
                let refused = self.result(handle, &Json([1]));
                return assert!(refused.is_err(), "{refused:?}");
            }
            4 => {
                let error =
                    RpcError::internal(&text).data(RawJson::from_static(r#"{"why": [null]}"#));
                self.respond(handle, |server, tx| server.respond_error(handle, &error, tx))
            }
            5 => return self.abandon(handle, &text),
            _ => {
                self.by_hand = true;
                let answered = self.write_response(handle, &text);
                self.by_hand = false;
                answered
            }
        };
        self.responded(handle, answered);
    }

    /// Abandons a response that has begun; an error is sent instead.
    fn abandon(&mut self, handle: RequestHandle, text: &str) {
        let result = TextResult::new(text);
        let mut answered = self.attempt(|server, tx| {
            respond(server, handle, tx, |server, tx| server.respond(handle, &result, tx))
        });
        if answered == Err(SendError::Full) {
            if !self.wrote_part {
                return;
            }
            self.ledger.broken = true;
        }
        let error = RpcError::internal("broken off");
        for _ in 0..20_000 {
            if answered != Err(SendError::Full) {
                self.answered(handle, answered.unwrap());
                return;
            }
            answered = self.attempt(|server, tx| {
                respond(server, handle, tx, |server, tx| server.fail(handle, &error, tx))
            });
            if answered == Err(SendError::Full) {
                self.drain();
            }
        }
        panic!("a repeated call does not terminate");
    }

    /// Writes a response piece by piece; its source may fail.
    fn write_response(&mut self, handle: RequestHandle, text: &str) -> Result<Delivery, SendError> {
        let writer = Writer::Job(handle);
        let is_open = self.send(writer, |server, tx| {
            let is_open = server.is_request_open(handle);
            server.begin_response(handle, tx).map(|()| is_open)
        })?;
        if !is_open {
            return Ok(Delivery::Gone);
        }
        let json =
            format!("\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]", text.escape_default());
        let mut rest = json.as_bytes();
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(1 + self.script.below(200))];
            match self.attempt(|server, tx| server.write_response(handle, piece, tx)) {
                Ok(n) => rest = &rest[n..],
                Err(error) => {
                    assert_eq!(error, SendError::Full);
                    self.drain();
                }
            }
            if self.script.once_in(8) {
                self.break_in(writer);
            }
        }
        let fails = self.script.once_in(4);
        let error = RpcError::internal("the source failed");
        self.ledger.broken = fails;
        loop {
            let answered = self.respond(handle, |server, tx| {
                if fails {
                    server.fail(handle, &error, tx)
                } else {
                    server.finish_response(handle, tx)
                }
            });
            match answered {
                Err(SendError::Full) => self.drain(),
                answered => return answered,
            }
        }
    }

    fn result(
        &mut self,
        handle: RequestHandle,
        result: &impl Encode,
    ) -> Result<Delivery, SendError> {
        self.respond(handle, |server, tx| server.respond(handle, result, tx))
    }

    pub(super) fn respond(
        &mut self,
        handle: RequestHandle,
        mut call: impl FnMut(&mut Server<'d>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<Delivery, SendError> {
        self.send(Writer::Job(handle), |server, tx| respond(server, handle, tx, &mut call))
    }

    /// Updates the state after a response, which may have been dropped for want of room.
    pub(super) fn responded(&mut self, handle: RequestHandle, sent: Result<Delivery, SendError>) {
        match sent {
            Ok(answered) => _ = self.answered(handle, answered),
            Err(error) => assert_eq!(error, SendError::Full),
        }
    }

    /// Updates the state after a response.
    fn answered(&mut self, handle: RequestHandle, answered: Delivery) -> bool {
        if answered != Delivery::Sent {
            // The request may have been cancelled while its response was written; the line was
            // finished then.
            assert!(
                answered == Delivery::Gone
                    && !self.application.jobs.iter().any(|job| job.handle == handle),
                "{answered:?}"
            );
            return false;
        }
        let job = self.application.forget(handle).expect("the response belongs to an open request");
        if let Some(id) = job.id {
            let line = String::from_utf8_lossy(&self.ledger.last);
            assert!(
                line.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"")),
                "{id}: {line}"
            );
        }
        self.application.calls.retain(|call| self.server.is_call_open(*call));
        true
    }

    fn input_required(&mut self) {
        const FORM: ElicitParams = ElicitParams::form(
            "Who?",
            RequestedSchema::new(&[Field::optional("who", StringSchema::new().schema())]),
        );
        let Some(Job { handle, .. }) = self.job() else { return };
        let questions = [("k", ClientRequest::from(&FORM)), ("r", ClientRequest::roots())];
        let (questions, state) = match self.script.below(4) {
            0 => (&questions[..1], None),
            1 => (&[][..], Some("state")),
            2 => (&questions[..], None),
            _ => (&[][..], None),
        };
        match self.respond(handle, |server, tx| server.input_required(handle, questions, state, tx))
        {
            Ok(answered) => _ = self.answered(handle, answered),
            Err(error) => assert!(
                matches!(error, SendError::Full | SendError::NotAllowed(_) | SendError::Invalid(_)),
                "{error:?}"
            ),
        }
    }

    fn progress(&mut self) {
        let Some(Job { handle, .. }) = self.job() else { return };
        let amounts = [1.0, 2.5, 0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 0.999_999_9, 1e19];
        let progress = Progress::of(*self.script.pick(&amounts))
            .total(*self.script.pick(&amounts))
            .message("so \"far\"");
        let now = self.instant();
        let sent =
            self.send(Writer::Other, |server, tx| server.progress(now, handle, &progress, tx));
        may_be_dropped(sent);
    }

    fn log(&mut self) {
        let text = "log ".repeat(self.script.below(64));
        let message = LogMessage::new(
            *self.script.pick(&[LoggingLevel::Info, LoggingLevel::Debug, LoggingLevel::Emergency]),
            &text,
        );
        let sent = match self.job().filter(|_| self.script.once_in(2)) {
            Some(job) => {
                self.send(Writer::Other, |server, tx| server.log(job.handle, &message, tx))
            }
            None => self.send(Writer::Other, |server, tx| server.log_unrelated(&message, tx)),
        };
        may_be_dropped(sent);
    }

    fn publish(&mut self) {
        let changes = [
            Change::tools(),
            Change::prompts(),
            Change::resources(),
            Change::resource("m://1"),
            Change::resource("m://3"),
        ];
        self.publish_all(*self.script.pick(&changes));
    }

    /// Tells all subscribers of a change.
    pub(super) fn publish_all(&mut self, mut change: Change<'_>) {
        for _ in 0..=8 {
            match self.send(Writer::Other, |server, tx| server.publish(&mut change, tx)) {
                Ok(Remaining::More) => {}
                Ok(Remaining::Done) => return,
                Err(error) => return assert_eq!(error, SendError::Full),
            }
        }
        panic!("more notifications than subscribers");
    }

    fn notify(&mut self) {
        let method =
            *self.script.pick(&["notifications/elicitation/complete", "notifications/own"]);
        match self.send(Writer::Other, |server, tx| server.notify(method, &RawJson::EMPTY, tx)) {
            Ok(()) => {}
            Err(error) => {
                assert!(matches!(error, SendError::Full | SendError::NotAllowed(_)), "{error:?}")
            }
        }
    }

    fn ask(&mut self) {
        let messages = [SamplingMessage::user("What is it?")];
        let (sampling, form) = (
            CreateMessageParams::new(&messages, 9),
            ElicitParams::form("Who?", RequestedSchema::new(&[])),
        );
        let own = Json(Echo { params: RawJson::NULL, text: "?" });
        let mut request = match self.script.below(5) {
            0 => ClientRequest::from(&sampling),
            1 => ClientRequest::from(&form),
            2 => ClientRequest::roots(),
            3 => ClientRequest::ping(),
            _ => ClientRequest::new("own/question", Some(&own), ClientFeatures::NONE),
        };
        if let Some(job) = self.job().filter(|_| self.script.once_in(2)) {
            request = request.parent(job.handle);
        }
        if self.script.once_in(2) {
            request =
                request.timeout(Duration::from_millis(*self.script.pick(&[0, 10, 4000, u64::MAX])));
        }
        let now = self.instant();
        match self.send(Writer::Other, |server, tx| server.request(now, request, tx)) {
            Ok(call) => self.application.calls.push(call),
            Err(SendError::Full | SendError::NotAllowed(_) | SendError::TooManyCalls) => {}
            Err(error) => panic!("{error:?}"),
        }
        self.application.calls.retain(|call| self.server.is_call_open(*call));
    }

    fn give_up_a_call(&mut self) {
        let n = self.application.calls.len();
        if n > 0 {
            let call = self.application.calls[self.script.below(n)];
            self.cancel_call(call);
        }
    }

    fn cancel_call(&mut self, call: Call) {
        let now = self.instant();
        match self.send(Writer::Other, |server, tx| server.cancel_call(now, call, tx)) {
            Ok(_) => self.application.calls.retain(|open| *open != call),
            Err(error) => assert_eq!(error, SendError::Full),
        }
        assert!(self.application.calls.contains(&call) || !self.server.is_call_open(call));
    }

    /// Drops a request, unless its response has begun.
    fn cancel(&mut self, writer: Option<Writer>) {
        let Some(job) = self.job().filter(|job| Some(Writer::Job(job.handle)) != writer) else {
            return;
        };
        assert!(self.server.forget_request(job.handle) && !self.server.forget_request(job.handle));
        self.application.forget(job.handle);
        self.ledger.forgive(job.id.as_ref());
        self.application.calls.retain(|call| self.server.is_call_open(*call));
    }

    fn end_listen(&mut self) {
        let Some(listen) = self.application.listening.first().copied() else { return };
        for _ in 0..3 {
            match self.send(Writer::Job(listen), |server, tx| server.end_listen(listen, tx)) {
                Ok(Remaining::More) => {}
                Ok(Remaining::Done) => {
                    if self.application.listening.contains(&listen) {
                        self.application.forget(listen);
                    }
                    return;
                }
                Err(error) => return assert_eq!(error, SendError::Full),
            }
        }
        panic!("ending a listen does not terminate");
    }

    /// Calls with the handle of a request that has ended do nothing.
    fn use_ended_handles(&mut self) {
        let Some(handle) = self.application.gone.last().copied() else { return };
        let now = self.instant();
        let progress = Progress::of(1);
        let gone = |server: &mut Server<'_>, tx: &mut Tx<'_>| {
            respond(server, handle, tx, |server, tx| {
                server.respond(handle, &TextResult::new("late"), tx)
            })
        };
        assert_eq!(self.attempt(gone), Ok(Delivery::Gone));
        assert_eq!(
            self.attempt(|server, tx| server.progress(now, handle, &progress, tx)),
            Ok(Delivery::Gone)
        );
        assert_eq!(self.attempt(|server, tx| server.end_listen(handle, tx)), Ok(Remaining::Done));
        assert!(!self.server.forget_request(handle));
    }

    /// Responds to every request and cancels every call.
    pub(super) fn finish_jobs(&mut self) {
        while let Some(Job { handle, .. }) = self.application.jobs.first().cloned() {
            let answered = self.result(handle, &TextResult::new("at last")).unwrap();
            self.answered(handle, answered);
        }
        while !self.application.listening.is_empty() {
            self.end_listen();
        }
        while let Some(call) = self.application.calls.first().copied() {
            self.cancel_call(call);
        }
    }
}

fn may_be_dropped(sent: Result<Delivery, SendError>) {
    if let Err(error) = sent {
        assert!(
            matches!(error, SendError::Full | SendError::TooLarge | SendError::NotAllowed(_)),
            "{error:?}"
        );
    }
}
