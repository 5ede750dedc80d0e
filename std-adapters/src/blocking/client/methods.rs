//! Requests of the protocol by name.

use std::collections::HashSet;

use mcp_sansio::types::{
    CompleteParams, LoggingLevel, PaginatedParams, ResourceParams, SetLevelParams,
    SubscriptionFilter, Text,
};
use mcp_sansio::{CallOptions, Encode, Encoder, OwnedJson, RawJson};

use super::{CallId, Client, Error, List, MAX_LIST, MAX_PAGES};

/// Requests by name. For other [`CallOptions`] use [`request`](Client::request).
impl Client<'_> {
    /// Lists the tools, of all pages: each is a [`Tool`](mcp_sansio::types::Tool).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_tools(&mut self) -> Result<List, Error> {
        self.list("tools/list", "tools")
    }

    /// Lists the resources, of all pages: each is a [`Resource`](mcp_sansio::types::Resource).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_resources(&mut self) -> Result<List, Error> {
        self.list("resources/list", "resources")
    }

    /// Lists the resource templates, of all pages: each is a
    /// [`ResourceTemplate`](mcp_sansio::types::ResourceTemplate).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_resource_templates(&mut self) -> Result<List, Error> {
        self.list("resources/templates/list", "resourceTemplates")
    }

    /// Lists the prompts, of all pages: each is a [`Prompt`](mcp_sansio::types::Prompt).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn list_prompts(&mut self) -> Result<List, Error> {
        self.list("prompts/list", "prompts")
    }

    /// Calls a tool. Returns a [`CallToolResult`](mcp_sansio::types::CallToolResult), also if the
    /// tool failed (`isError`).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn call_tool<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, Error> {
        self.request("tools/call", &Named { name, arguments }, CallOptions::new())
    }

    /// Reads a resource. Returns a [`ReadResourceResult`](mcp_sansio::types::ReadResourceResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn read_resource(&mut self, uri: &str) -> Result<OwnedJson, Error> {
        self.request("resources/read", &ResourceParams::new(uri), CallOptions::new())
    }

    /// Gets a prompt. Returns a [`GetPromptResult`](mcp_sansio::types::GetPromptResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn get_prompt<A: Encode + ?Sized>(
        &mut self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, Error> {
        self.request("prompts/get", &Named { name, arguments }, CallOptions::new())
    }

    /// Completes an argument. Returns a [`CompleteResult`](mcp_sansio::types::CompleteResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn complete(&mut self, params: &CompleteParams<'_>) -> Result<OwnedJson, Error> {
        self.request("completion/complete", params, CallOptions::new())
    }

    /// Sets the minimum level of log messages. Sent to a legacy server at once, to a modern one
    /// with each request.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn set_log_level(&mut self, level: LoggingLevel) -> Result<(), Error> {
        if !self.is_modern() {
            self.request("logging/setLevel", &SetLevelParams::new(level), CallOptions::new())?;
        }
        self.log_level = Some(level);
        Ok(())
    }

    /// Subscribes to a resource; the [handler](super::Handler) gets its changes. A modern server
    /// gets a [`listen`](Self::listen) of its own for it.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn subscribe(&mut self, uri: &str) -> Result<(), Error> {
        if self.subscribed.iter().any(|(subscribed, _)| subscribed == uri) {
            return Ok(());
        }
        let listen = if self.is_modern() {
            let uris = [Text::new(uri)];
            Some(self.listen(&SubscriptionFilter::new().resource_subscriptions(&uris))?)
        } else {
            self.request("resources/subscribe", &ResourceParams::new(uri), CallOptions::new())?;
            None
        };
        self.subscribed.push((uri.to_owned(), listen));
        Ok(())
    }

    /// Unsubscribes from a resource.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn unsubscribe(&mut self, uri: &str) -> Result<(), Error> {
        let Some(at) = self.subscribed.iter().position(|(subscribed, _)| subscribed == uri) else {
            return Ok(());
        };
        match self.subscribed.swap_remove(at) {
            (_, Some(listen)) => self.cancel(listen, None).map(|_| ()),
            (uri, None) => self
                .request("resources/unsubscribe", &ResourceParams::new(&uri), CallOptions::new())
                .map(|_| ()),
        }
    }

    /// Sets the log level and the subscriptions again, which a legacy server has lost with its
    /// connection.
    pub(super) fn restore_settings(&mut self) -> Result<(), Error> {
        if let Some(level) = self.log_level {
            self.set_log_level(level)?;
        }
        let (kept, lost) = std::mem::take(&mut self.subscribed)
            .into_iter()
            .partition(|(_, listen)| listen.is_some());
        self.subscribed = kept;
        let lost: Vec<(String, Option<CallId>)> = lost;
        lost.iter().try_for_each(|(uri, _)| self.subscribe(uri))
    }

    /// Requests all pages of a list whose entries are in this member.
    fn list(&mut self, method: &str, member: &'static str) -> Result<List, Error> {
        let name = || method.to_owned();
        let limit = self.core().config().call_timeout;
        self.app.free_input_requests();
        let until = self.app.now().saturating_add(limit.saturating_mul(LIST_CALLS));
        let mut cursors = HashSet::new();
        let (mut pages, mut bytes): (Vec<OwnedJson>, usize) = (Vec::new(), 0);
        loop {
            let cursor = pages
                .last()
                .and_then(|page| page.as_raw().get("nextCursor"))
                .and_then(RawJson::as_string);
            match cursor {
                None if !pages.is_empty() => return Ok(List::new(member, pages)),
                Some(cursor) if !cursors.insert(cursor.to_string()) => {
                    return Err(Error::RepeatedCursor { method: name() });
                }
                _ => {}
            }
            if pages.len() >= MAX_PAGES {
                return Err(Error::TooManyPages { method: name() });
            }
            let left = until.saturating_duration_since(self.app.now());
            if left.is_zero() {
                return Err(Error::TimedOut { method: name() });
            }
            let mut params = PaginatedParams::new();
            params.cursor = cursor.map(Text::from_json);
            let page =
                self.request(method, &params, CallOptions::new().timeout(left.min(limit)))?;
            bytes = bytes.saturating_add(page.as_raw().as_str().len());
            if bytes > MAX_LIST {
                return Err(Error::ListTooLong { method: name() });
            }
            pages.push(page);
        }
    }

    pub(super) fn is_modern(&self) -> bool {
        self.revision().is_some_and(|revision| revision.is_modern())
    }
}

/// Parameters of `tools/call` and `prompts/get`. The arguments are any value that serializes as an
/// object.
struct Named<'a, A: ?Sized> {
    name: &'a str,
    arguments: &'a A,
}

impl<A: Encode + ?Sized> Encode for Named<'_, A> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("name", self.name);
        to.member("arguments", self.arguments);
        to.end_object();
    }
}

/// Timeout of a whole list, as a multiple of the timeout of one call.
const LIST_CALLS: u32 = 10;
