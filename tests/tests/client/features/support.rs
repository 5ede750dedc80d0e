//! A client with helpers for its input and output.

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ClientFeatures, Era, Frame, Instant, Messages,
    Revision, Tx, TxBuffer,
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
        let sent = peer.does(|client, tx| client.connect(NOW, tx).expect("connecting starts"));
        if revision.era() == Era::Legacy {
            let mut capabilities = json!({"tools": {}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {}});
            for (name, value) in more.as_object().expect("an object") {
                capabilities[name] = value.clone();
            }
            let result = json!({"protocolVersion": revision.as_str(), "capabilities": capabilities, "serverInfo": {"name": "s", "version": "1"}});
            peer.hears(
                &json!({"jsonrpc": "2.0", "id": sent[0]["id"], "result": result}),
                |_, event, _| {
                    assert!(matches!(event, ClientEvent::Connected(_)), "{event:?}");
                },
            );
        }
        assert_eq!(peer.client.revision(), Some(revision));
        peer
    }

    /// Connects by `server/discover` to a server of 2026-07-28 with these capabilities.
    pub(crate) fn discovers(capabilities: &Value) -> Self {
        let mut peer = Self { client: new_client::<8>(&CONFIG), ids: 0 };
        let sent = peer.does(|client, tx| client.connect(NOW, tx).expect("connecting starts"));
        let result = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "public"});
        peer.hears(&json!({"jsonrpc": "2.0", "id": sent[0]["id"], "result": result}), |_, _, _| {});
        assert_eq!(peer.client.revision(), Some(Revision::V2026_07_28));
        peer
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

    /// Sends a request, delivers its result, and passes the event to `application`.
    pub(crate) fn asks(
        &mut self,
        method: &str,
        params: Value,
        result: Value,
        handle: impl FnMut(&mut Client<'static>, ClientEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        let params = params.to_string();
        let sent = self.does(|client, tx| {
            client
                .request(NOW, method, &raw(&params), CallOptions::new(), tx)
                .expect("the request is sent");
        });
        self.hears(&json!({"jsonrpc": "2.0", "id": sent[0]["id"], "result": result}), handle)
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
