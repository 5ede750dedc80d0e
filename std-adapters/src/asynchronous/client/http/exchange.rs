//! One exchange: a request, on an idle connection or a new one, and its response.

use std::future::poll_fn;
use std::task::Poll;

use mcp_sansio_engine::{ExchangeId, Reading};

use super::authorize::{Credentials, Refused, Tried};
use super::transport_state::TransportState;
use super::wire;
use crate::client::HttpError;

impl TransportState {
    /// Sends the request of an exchange, and passes the response to the client.
    pub(super) async fn exchange(&self, id: ExchangeId, method: &'static str, target: &str) {
        let result = self.request_and_response(id, method, target).await;
        self.room(id).await;
        self.with(|client, now| client.end(id, result, now));
    }

    async fn request_and_response(
        &self,
        id: ExchangeId,
        method: &'static str,
        target: &str,
    ) -> Result<(), HttpError> {
        let mut tried = Tried::of(method);
        loop {
            let credentials = self.credentials(id, method, target).await?;
            let Some(request) = self.request(id, method, target, &credentials)? else {
                return Ok(());
            };
            let mut wire = self.send(method, target, &request).await?;
            drop(request);
            let refused = wire.head(|head| {
                self.observed(&head.as_head());
                self.with(|client, now| client.response(id, &head.as_head(), now));
                (self.reading(id) == Reading::Refused).then(|| Refused {
                    #[cfg(feature = "auth")]
                    status: head.status,
                    fields: head.fields.into(),
                    generation: credentials.generation,
                })
            });
            let refused = refused.await?;
            let mut piece = Vec::new();
            while self.reading(id) == Reading::Body
                && wire.piece(&mut |bytes| piece.extend_from_slice(bytes)).await?
            {
                self.room(id).await;
                self.with(|client, now| client.body(id, &piece, now));
                piece.clear();
            }
            match self.reading(id) {
                Reading::Body => self.release(wire),
                Reading::Rest | Reading::Refused => self.drain(wire).await,
                Reading::Head | Reading::Over => {}
            }
            let Some(refused) = refused else { return Ok(()) };
            if !self.reauthorize(id, &refused, &mut tried).await? {
                return Ok(());
            }
            self.with(|client, _| client.authorized(id));
        }
    }

    fn reading(&self, id: ExchangeId) -> Reading {
        self.with(|client, _| client.reading(id))
    }

    /// Waits until there is room for the messages of the response.
    async fn room(&self, id: ExchangeId) {
        let poll = |cx: &mut std::task::Context<'_>| {
            if self.with(|client, _| client.waits_for_room(id)) {
                self.wait_for_room(cx.waker());
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        };
        poll_fn(poll).await;
    }

    /// Returns the head of a request and its body; `None` if the exchange is over.
    ///
    /// # Errors
    /// [`HttpError::Invalid`], if a field that the application has set is invalid.
    fn request(
        &self,
        id: ExchangeId,
        method: &str,
        target: &str,
        credentials: &Credentials,
    ) -> Result<Option<Vec<u8>>, HttpError> {
        self.with(|client, now| {
            let Some(request) = client.request(id, now) else { return Ok(None) };
            let fields = [&self.http.fields, &credentials.fields, &request.fields];
            let fields = fields.into_iter().flatten();
            wire::request(method, target, &self.http.authority, fields, request.body)
                .map(Some)
                .ok_or_else(|| HttpError::Invalid(wire::INVALID_FIELD.to_owned()))
        })
    }
}
