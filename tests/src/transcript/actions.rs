//! Actions of the application, as text. `#1` is the first request, `?1` the first call.
//!
//! | action | call |
//! | --- | --- |
//! | `#1 result JSON` | `respond_raw` |
//! | `#1 text TEXT` | `respond` with one text |
//! | `#1 error CODE MESSAGE`, `... data JSON` | `respond_error`; the code is a number or an `ErrorCode` |
//! | `#1 missing sampling roots`, `#1 no resource URI` | `respond_error` |
//! | `#1 input required JSON` | `input_required` |
//! | `#1 progress 3`, `#1 progress 3 of 10 MESSAGE` | `progress` |
//! | `#1 log LEVEL JSON`, `#1 log LEVEL as LOGGER JSON`, `log ...` | `log`, `log_unrelated` |
//! | `#1 request METHOD PARAMS`, `request METHOD`, with `... within MS` at the end | `request` |
//! | `#1 cancel`, `#1 end` | `forget_request`, `end_listen` |
//! | `#1 open`, `?1 open` | `is_request_open`, `is_call_open` |
//! | `?1 cancel` | `cancel_call` |
//! | `publish tools`, `publish resource URI` | `publish`, until it is complete |
//! | `notify METHOD JSON` | `notify` |
//! | `close` | `close`: a new connection begins |
//! | `in flight` | number of open requests and calls: `2 0` |
//! | `done` | no request and no call is open |
//!
//! The outcome is what the call returned: `Sent`, `Throttled`, `NotAllowed`...; `Sent`, `Ok` and
//! `true` may be omitted.

use std::time::Duration;

use mcp_sansio::types::{CreateMessageParams, ElicitParams, InputRequest, TextResult};
use mcp_sansio::{
    Amount, Change, ClientFeatures, ClientRequest, ErrorCode, LogMessage, Progress, RawJson,
    ReadError, Remaining, RequestHandle, RpcError,
};

use super::machine::{Play as _, named, outcome};
use super::play::Player;
use super::setup::{client_capabilities, json, level, millis};
use super::wire::probed;

impl Player<'_> {
    pub(super) fn acts(&mut self, text: &str) -> Result<String, String> {
        let (subject, rest) = split(text);
        if subject.starts_with('#') {
            let request = self.bench.request(subject)?;
            self.logging = Some(named(&self.revisions, subject)?);
            return self.act_on(request, rest);
        }
        match subject {
            "request" => self.send_request(None, rest),
            "log" => self.log(None, rest),
            "publish" => self.publish(rest),
            "notify" => {
                let (method, params) = split(rest);
                let params = json(params)?;
                Ok(outcome(self.send(|server, tx| server.notify(method, &params, tx))))
            }
            "close" => {
                probed(|| self.server.close());
                Ok("Ok".into())
            }
            "in" => Ok(format!("{} {}", self.server.open_requests(), self.server.open_calls())),
            _ if subject.starts_with('?') => {
                let (call, now) = (self.bench.call(subject)?, self.bench.now);
                match rest {
                    "cancel" => {
                        let was_open = self.server.is_call_open(call);
                        let cancelled = self.send(|server, tx| server.cancel_call(now, call, tx));
                        Ok(outcome(cancelled.map(|()| was_open)))
                    }
                    "open" => Ok(self.server.is_call_open(call).to_string()),
                    _ => Err(format!("unknown action: {text}")),
                }
            }
            _ => Err(format!("unknown action: {text}")),
        }
    }

    fn act_on(&mut self, request: RequestHandle, text: &str) -> Result<String, String> {
        let (verb, rest) = split(text);
        let sent = match verb {
            "result" => {
                let result = json(rest)?;
                self.respond(request, |server, tx| server.respond_raw(request, result, tx))
            }
            "text" => {
                let result = TextResult::new(rest);
                self.respond(request, |server, tx| server.respond(request, &result, tx))
            }
            "error" => {
                let error = error(rest)?;
                self.respond(request, |server, tx| server.respond_error(request, &error, tx))
            }
            "missing" => {
                let error = RpcError::missing_capability(client_capabilities(rest)?);
                self.respond(request, |server, tx| server.respond_error(request, &error, tx))
            }
            "no" => {
                let uri = format!("\"{}\"", rest.strip_prefix("resource ").unwrap_or_default());
                let error = RpcError::resource_not_found(json(&uri)?.as_string().ok_or("no URI")?);
                self.respond(request, |server, tx| server.respond_error(request, &error, tx))
            }
            "input" => {
                let input = json(rest.strip_prefix("required ").unwrap_or_default())?;
                let input_requests: Vec<(String, InputRequest<'_>)> = input
                    .get("inputRequests")
                    .iter()
                    .flat_map(|requests| requests.members())
                    .map(|(key, request)| Ok((key.to_string(), request.to()?)))
                    .collect::<Result<_, ReadError>>()
                    .map_err(|error| format!("{error}: {rest}"))?;
                let input_requests: Vec<_> = input_requests
                    .iter()
                    .map(|(key, request)| (key.as_str(), ClientRequest::from(request)))
                    .collect();
                let state = input.get("requestState").and_then(RawJson::as_string);
                let state = state.map(|state| state.to_string());
                self.respond(request, |server, tx| {
                    server.input_required(request, &input_requests, state.as_deref(), tx)
                })
            }
            "progress" => {
                let progress = progress(rest)?;
                let now = self.bench.now;
                self.send(|server, tx| server.progress(now, request, &progress, tx))
            }
            "log" => return self.log(Some(request), rest),
            "request" => return self.send_request(Some(request), rest),
            "cancel" => return Ok(self.server.forget_request(request).to_string()),
            "open" => return Ok(self.server.is_request_open(request).to_string()),
            "end" => loop {
                match self.send(|server, tx| server.end_listen(request, tx)) {
                    Ok(Remaining::More) => {}
                    other => return Ok(outcome(other.map(|_| "Ok"))),
                }
            },
            _ => return Err(format!("unknown action: {text}")),
        };
        Ok(outcome(sent))
    }

    fn log(&mut self, request: Option<RequestHandle>, text: &str) -> Result<String, String> {
        let (name, mut rest) = split(text);
        let mut logger = None;
        if let Some((name, after)) = rest.strip_prefix("as ").map(split) {
            (logger, rest) = (Some(name), after);
        }
        let data = json(rest)?;
        let mut message = LogMessage::new(level(name)?, &data);
        message.logger = logger;
        Ok(outcome(self.send(|server, tx| match request {
            Some(request) => server.log(request, &message, tx),
            None => server.log_unrelated(&message, tx),
        })))
    }

    fn send_request(
        &mut self,
        parent: Option<RequestHandle>,
        text: &str,
    ) -> Result<String, String> {
        let (text, timeout) = match text.rsplit_once(" within ") {
            Some((text, ms)) => (text, Some(millis(&mut [ms].into_iter())?)),
            None => (text, None),
        };
        let (method, params) = split(text);
        let params = json(if params.is_empty() { "{}" } else { params })?;
        match method {
            "sampling/createMessage" => {
                let params: CreateMessageParams<'_> =
                    params.to().map_err(|error| error.to_string())?;
                self.send_call(parent, timeout, ClientRequest::from(&params))
            }
            "elicitation/create" => {
                let params: ElicitParams<'_> = params.to().map_err(|error| error.to_string())?;
                self.send_call(parent, timeout, ClientRequest::from(&params))
            }
            "roots/list" => self.send_call(parent, timeout, ClientRequest::roots()),
            "ping" => self.send_call(parent, timeout, ClientRequest::ping()),
            _ => {
                // Methods are `&'static str`.
                let method: &'static str = Box::leak(method.to_owned().into_boxed_str());
                let own = ClientRequest::new(method, Some(&params), ClientFeatures::NONE);
                self.send_call(parent, timeout, own)
            }
        }
    }

    fn send_call(
        &mut self,
        parent: Option<RequestHandle>,
        timeout: Option<Duration>,
        request: ClientRequest<'_>,
    ) -> Result<String, String> {
        let request = if let Some(parent) = parent { request.parent(parent) } else { request };
        let request = if let Some(after) = timeout { request.timeout(after) } else { request };
        let now = self.bench.now;
        let call = self.send(|server, tx| server.request(now, request, tx));
        Ok(self.bench.called(call))
    }

    fn publish(&mut self, text: &str) -> Result<String, String> {
        let (kind, uri) = split(text);
        let mut change = match kind {
            "tools" => Change::tools(),
            "prompts" => Change::prompts(),
            "resources" => Change::resources(),
            "resource" => Change::resource(uri),
            _ => return Err(format!("unknown change: {kind}")),
        };
        loop {
            match self.send(|server, tx| server.publish(&mut change, tx)) {
                Ok(Remaining::More) => {}
                other => return Ok(outcome(other.map(|_| "Ok"))),
            }
        }
    }
}

pub(super) fn split(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

fn amount(text: &str) -> Result<Amount, String> {
    if let Ok(whole) = text.parse::<u64>() {
        return Ok(whole.into());
    }
    text.parse::<f64>().map(Into::into).map_err(|_| format!("{text} is no number"))
}

/// `3`, `3 of 10`, `3 of 10 MESSAGE`
pub(super) fn progress(text: &str) -> Result<Progress<'_>, String> {
    let (done, rest) = split(text);
    let mut progress = Progress::of(amount(done)?);
    let mut message = rest;
    if let Some(rest) = rest.strip_prefix("of ") {
        let (total, after) = split(rest);
        progress = progress.total(amount(total)?);
        message = after;
    }
    if !message.is_empty() {
        progress = progress.message(message);
    }
    Ok(progress)
}

pub(super) fn error(text: &str) -> Result<RpcError<'_>, String> {
    use ErrorCode as E;
    let (code, rest) = split(text);
    let code = match code {
        "ParseError" => E::ParseError,
        "InvalidRequest" => E::InvalidRequest,
        "MethodNotFound" => E::MethodNotFound,
        "InvalidParams" => E::InvalidParams,
        "InternalError" => E::InternalError,
        "ResourceNotFound" => E::ResourceNotFound,
        "UrlElicitationRequired" => E::UrlElicitationRequired,
        "MissingClientCapability" => E::MissingClientCapability,
        "UnsupportedProtocolVersion" => E::UnsupportedProtocolVersion,
        number => E::Application(number.parse().map_err(|_| format!("{number} is no code"))?),
    };
    match rest.split_once(" data ") {
        Some((message, data)) => Ok(RpcError::new(code, message).data(json(data)?)),
        None => Ok(RpcError::new(code, rest)),
    }
}
