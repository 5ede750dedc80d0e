//! Actions of a client's application, as text. `?1` is the first call or subscription, `#1` the
//! first request of the server.
//!
//! | action | call |
//! | --- | --- |
//! | `connect`, `set era modern`, `set era legacy`, `set era nothing` | `connect`, `set_era` |
//! | `request METHOD`, `request METHOD PARAMS OPTIONS` | `request`; options: `progress`, `within MS`, `at most MS`, `log LEVEL` |
//! | `?1 retry METHOD PARAMS`, `... responses JSON` | `retry` with the round and state of what `?1` ended with |
//! | `listen FILTER OPTIONS` | `listen` |
//! | `?1 cancel`, `?1 cancel REASON` | `cancel_call` |
//! | `?1 open`, `?1 id` | `is_call_open`, `id` |
//! | `#1 result JSON` | `respond_raw` |
//! | `#1 error CODE MESSAGE`, `... data JSON` | `respond_error` |
//! | `#1 progress 3`, `#1 progress 3 of 10 MESSAGE` | `progress` |
//! | `#1 open` | `is_request_open` |
//! | `roots changed` | `roots_changed` |
//! | `notify METHOD JSON` | `notify` |
//! | `close` | `close`, until no event is left |
//! | `is open`, `era`, `revision`, `capabilities` | of the same names |
//! | `in flight` | number of open calls and requests: `2 0` |
//! | `done` | no request and no call is open |
//!
//! The outcome is what the call returned; `Sent`, `Ok` and `true` may be omitted.

use mcp_sansio::types::Text;
use mcp_sansio::{CallOptions, Era, InputResponseParams, RawJson};

use super::super::actions::{error, progress, split};
use super::super::machine::{Play as _, outcome};
use super::super::setup::{code, json, level, millis};
use super::super::wire::probed;
use super::play::{Asked, Player};

impl Player<'_> {
    pub(super) fn acts(&mut self, text: &str) -> Result<String, String> {
        let (subject, rest) = split(text);
        let now = self.bench.now;
        match subject {
            "connect" => Ok(outcome(self.send(|client, tx| client.connect(now, tx)))),
            "set" => {
                self.client.set_era(match rest.strip_prefix("era ").unwrap_or_default() {
                    "modern" => Some(Era::Modern),
                    "legacy" => Some(Era::Legacy),
                    "nothing" => None,
                    _ => return Err("an era is modern, legacy or nothing".into()),
                });
                Ok("Ok".into())
            }
            "request" => {
                let (method, rest) = split(rest);
                let (params, options) = params_and_options(rest)?;
                let call =
                    self.send(|client, tx| client.request(now, method, &params, options, tx));
                Ok(self.bench.called(call))
            }
            "listen" => {
                let (filter, options) = params_and_options(rest)?;
                let filter = filter.to().map_err(|error| error.to_string())?;
                let call = self.send(|client, tx| client.listen(now, &filter, options, tx));
                Ok(self.bench.called(call))
            }
            "roots" if rest == "changed" => {
                Ok(outcome(self.send(|client, tx| client.roots_changed(tx))))
            }
            "notify" => {
                let (method, params) = split(rest);
                let params = json(params)?;
                Ok(outcome(self.send(|client, tx| client.notify(method, &params, tx))))
            }
            "close" => {
                while let Some(event) = probed(|| self.client.close()) {
                    self.happened(&event);
                }
                Ok("Ok".into())
            }
            "is" if rest == "open" => Ok(self.client.is_open().to_string()),
            "era" => Ok(format!("{:?}", self.client.era())),
            "revision" => {
                let revision = self.client.revision().map(|revision| code(revision).to_string());
                Ok(revision.unwrap_or("none".into()))
            }
            "capabilities" => Ok(format!("{:?}", self.client.server_capabilities())),
            "in" => Ok(format!("{} {}", self.client.open_calls(), self.client.open_requests())),
            _ if subject.starts_with('?') => self.act_on_call(subject, rest),
            _ if subject.starts_with('#') => self.act_on_request(subject, rest),
            _ => Err(format!("unknown action: {text}")),
        }
    }

    fn act_on_call(&mut self, name: &str, text: &str) -> Result<String, String> {
        let (call, now) = (self.bench.call(name)?, self.bench.now);
        let (verb, rest) = split(text);
        match verb {
            "cancel" => {
                let reason = Some(rest).filter(|reason| !reason.is_empty());
                let was_open = self.client.is_call_open(call);
                let cancelled = self.send(|client, tx| client.cancel_call(call, reason, tx));
                Ok(outcome(cancelled.map(|()| was_open)))
            }
            "open" => Ok(self.client.is_call_open(call).to_string()),
            "id" => Ok(self.client.id(call).map_or("none".into(), |id| id.to_string())),
            "retry" => {
                let Asked { round, state } =
                    self.asked.get(name).ok_or("it did not end with questions")?.clone();
                let state = state.as_deref().map(json).transpose()?.and_then(RawJson::as_string);
                let (text, responses) = match rest.split_once(" responses ") {
                    Some((text, responses)) => (text, Some(json(responses)?)),
                    None => (rest, None),
                };
                let (method, rest) = split(text);
                let (params, options) = params_and_options(rest)?;
                let mut inputs = InputResponseParams::new(round).state(state.map(Text::from_json));
                if let Some(responses) = &responses {
                    inputs = inputs.responses(responses);
                }
                let call = self
                    .send(|client, tx| client.retry(now, method, &params, &inputs, options, tx));
                Ok(self.bench.called(call))
            }
            _ => Err(format!("unknown action: {text}")),
        }
    }

    fn act_on_request(&mut self, name: &str, text: &str) -> Result<String, String> {
        let (request, now) = (self.bench.request(name)?, self.bench.now);
        let (verb, rest) = split(text);
        Ok(outcome(match verb {
            "result" => {
                let result = json(rest)?;
                self.respond(request, |client, tx| client.respond_raw(request, result, tx))
            }
            "error" => {
                let error = error(rest)?;
                self.respond(request, |client, tx| client.respond_error(request, &error, tx))
            }
            "progress" => {
                let progress = progress(rest)?;
                self.send(|client, tx| client.progress(now, request, &progress, tx))
            }
            "open" => return Ok(self.client.is_request_open(request).to_string()),
            _ => return Err(format!("unknown action: {text}")),
        }))
    }
}

/// `{"a":1} progress within 300 at most 900 log debug`
fn params_and_options(text: &str) -> Result<(RawJson<'_>, CallOptions), String> {
    let end = text.rfind(['}', ']']).map_or(0, |at| at + 1);
    let params = if end == 0 { RawJson::EMPTY } else { json(&text[..end])? };
    let mut options = CallOptions::new();
    let mut words = text[end..].split(' ').filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        options = match word {
            "progress" => options.progress(true),
            "within" => options.timeout(millis(&mut words)?),
            "at" => {
                words.next();
                options.limit(millis(&mut words)?)
            }
            "log" => options.log_level(level(words.next().unwrap_or_default())?),
            _ => return Err(format!("unknown option: {word}")),
        };
    }
    Ok((params, options))
}
