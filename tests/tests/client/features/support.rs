//! A client with helpers for its input and output.

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, Encode, Frame,
    Instant, Messages, RawJson, Revision, SendResult, ServerRequest, Tx, TxBuffer,
};
use mcp_sansio_tests::json::lines;
use mcp_sansio_tests::memory::new_client;
use serde_json::{Value, json};

pub(crate) use mcp_sansio_tests::json::{REVISIONS, raw};

pub(crate) const EVERYTHING: ClientFeatures = ClientFeatures::ROOTS_LIST_CHANGED
    .with(ClientFeatures::SAMPLING_TOOLS)
    .with(ClientFeatures::SAMPLING_CONTEXT)
    .with(ClientFeatures::ELICITATION_FORM)
    .with(ClientFeatures::ELICITATION_URL);

pub(crate) static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), EVERYTHING).send_client_info(false);

pub(crate) const NOW: Instant = Instant::from_millis(0);

/// A connected client whose server declares every capability.
pub(crate) struct Peer {
    pub(crate) client: Client<'static>,
    ids: u32,
}

impl Peer {
    pub(crate) fn new(revision: Revision) -> Self {
        Self::with(&CONFIG, revision, &json!({}))
    }

    /// Connects with this configuration to a server with these capabilities more.
    pub(crate) fn with(
        config: &'static ClientConfig<'static>,
        revision: Revision,
        more: &Value,
    ) -> Self {
        let mut peer = Self { client: new_client::<8>(config), ids: 0 };
        peer.client.set_era(Some(revision.era()));
        let mut capabilities = json!({"tools": {}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {}});
        for (name, value) in more.as_object().expect("an object") {
            capabilities[name] = value.clone();
        }
        peer.connects(&json!({"protocolVersion": revision.as_str(), "capabilities": capabilities, "serverInfo": {"name": "s", "version": "1"}}));
        assert_eq!(peer.client.revision(), Some(revision));
        peer
    }

    /// Connects by `server/discover` to a server of 2026-07-28 with these capabilities.
    pub(crate) fn discovers(capabilities: &Value) -> Self {
        let mut peer = Self { client: new_client::<8>(&CONFIG), ids: 0 };
        peer.connects(&json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "public"}));
        assert_eq!(peer.client.revision(), Some(Revision::V2026_07_28));
        peer
    }

    /// Connects; the server responds with this result if it is asked.
    fn connects(&mut self, result: &Value) {
        let sent = self.does(|client, tx| client.connect(NOW, tx).expect("connecting starts"));
        for sent in sent {
            self.is_answered(&sent, "result", result, |_, event, _| {
                assert!(matches!(event, ClientEvent::Connected(_)), "{event:?}");
            });
        }
    }

    /// Returns the output of a call.
    pub(crate) fn does(
        &mut self,
        call: impl FnOnce(&mut Client<'static>, &mut Tx<'_>),
    ) -> Vec<Value> {
        let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 20);
        call(&mut self.client, &mut tx);
        lines(tx.pending())
    }

    /// Handles a message of the server; returns the output.
    pub(crate) fn hears(
        &mut self,
        message: &Value,
        handle: impl FnMut(&mut Client<'static>, ClientEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        self.hears_text(&message.to_string(), handle)
    }

    /// Does the same for a text.
    pub(crate) fn hears_text(
        &mut self,
        line: &str,
        mut handle: impl FnMut(&mut Client<'static>, ClientEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        self.does(|client, tx| {
            while let Some(event) =
                client.next_event(NOW, &mut messages, tx).expect("the buffer has room")
            {
                handle(client, event, tx);
            }
        })
    }

    /// Sends a request, if it is allowed.
    pub(crate) fn tries(
        &mut self,
        method: &str,
        params: &dyn Encode,
        options: CallOptions,
    ) -> SendResult {
        let mut result = Ok(());
        let sent = self.does(|client, tx| {
            result = client.request(NOW, method, params, options, tx).map(|_| ());
        });
        assert_eq!(sent.len(), usize::from(result.is_ok()));
        result
    }

    /// Sends a request, and returns it.
    pub(crate) fn sends(&mut self, method: &str, params: &dyn Encode) -> Value {
        self.sends_with(method, params, CallOptions::new())
    }

    pub(crate) fn sends_with(
        &mut self,
        method: &str,
        params: &dyn Encode,
        options: CallOptions,
    ) -> Value {
        let mut sent = self.does(|client, tx| {
            client.request(NOW, method, params, options, tx).expect("the request is sent");
        });
        sent.remove(0)
    }

    /// Delivers the response to a request: `member` is `result` or `error`.
    pub(crate) fn is_answered(
        &mut self,
        sent: &Value,
        member: &str,
        value: &Value,
        handle: impl FnMut(&mut Client<'static>, ClientEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        self.hears(&json!({"jsonrpc": "2.0", "id": sent["id"], member: value}), handle)
    }

    /// Sends a request, delivers its result, and passes the event to `application`.
    pub(crate) fn asks(
        &mut self,
        method: &str,
        params: &Value,
        result: &Value,
        handle: impl FnMut(&mut Client<'static>, ClientEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        let sent = self.sends(method, &raw(&params.to_string()));
        self.is_answered(&sent, "result", result, handle)
    }

    /// Delivers a legacy request of the server; returns the client's output.
    pub(crate) fn is_asked(
        &mut self,
        method: &str,
        params: Value,
        handle: impl FnMut(&mut Client<'static>, ClientEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        self.ids += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params});
        self.hears(&message, handle)
    }
}

/// Returns the outcome of the call that has ended.
pub(crate) fn outcome_of(event: ClientEvent<'_>) -> CallOutcome<'_> {
    let ClientEvent::CallFinished { outcome, .. } = event else { panic!("{event:?}") };
    outcome
}

/// Returns the result of the call that has ended.
pub(crate) fn result_of(event: ClientEvent<'_>) -> RawJson<'_> {
    outcome_of(event).result().unwrap_or_else(|| panic!("{event:?}"))
}

/// Returns the request of the server.
pub(crate) fn request_of(event: ClientEvent<'_>) -> ServerRequest<'_> {
    let ClientEvent::Request(request) = event else { panic!("{event:?}") };
    request
}
