//! Requests of the protocol by name.

use mcp_sansio::typed::ToolCall;
use mcp_sansio::types::{CompleteParams, ResourceParams};
use mcp_sansio::{CallOptions, Encode, OwnedJson};

use super::call::Deadline;
use super::error::CallError;
use super::handle::Client;
use crate::client::{
    List, ListKind, Named, Pager, Prompts, ResourceTemplates, Resources, Tools, TypedResult,
};

/// Requests by name. For other [`CallOptions`] use [`request`](Client::request) and
/// [`list`](Client::list). Cancel safe as `request`.
impl Client {
    /// Lists the tools, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_tools(&self) -> Result<List<Tools>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the resources, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_resources(&self) -> Result<List<Resources>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the resource templates, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_resource_templates(&self) -> Result<List<ResourceTemplates>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Lists the prompts, of all pages.
    ///
    /// # Errors
    /// See [`list`](Self::list).
    pub async fn list_prompts(&self) -> Result<List<Prompts>, CallError> {
        self.list(CallOptions::new()).await
    }

    /// Requests all pages of a list: `client.list::<Tools>(CallOptions::new())`. Up to
    /// [`MAX_PAGES`](super::MAX_PAGES) pages, and
    /// [`Connector::max_list`](super::Connector::max_list) bytes; the [limit](CallOptions::limit)
    /// in time applies to all pages together.
    ///
    /// Cancel safe: dropping the future cancels the request for the current page; the pages so far
    /// are lost.
    ///
    /// # Errors
    /// [`CallError::List`]; otherwise as any call.
    pub async fn list<L: ListKind>(&self, options: CallOptions) -> Result<List<L>, CallError> {
        let deadline = Deadline::after(self.limit(options));
        let mut pager = Pager::new(self.0.inner.max_list);
        loop {
            let options = options.limit(deadline.left());
            let page = self.request(L::METHOD, &pager.params(), options).await?;
            if pager.add(page)? {
                return Ok(pager.finish());
            }
        }
    }

    /// Calls a tool with typed arguments, and checks the structured content of its result.
    ///
    /// ```no_run
    /// use mcp_sansio::typed::{Input, Output, ToolCall};
    /// use mcp_sansio_adapters::asynchronous::client::{CallError, Client};
    ///
    /// #[derive(Output, ToolCall)]
    /// #[tool(returns = Quotient)]
    /// struct Divide {
    ///     dividend: i64,
    ///     divisor: i64,
    /// }
    ///
    /// #[derive(Input)]
    /// struct Quotient {
    ///     quotient: i64,
    /// }
    ///
    /// async fn seventh(client: &Client, dividend: i64) -> Result<i64, CallError> {
    ///     let divided = client.call(&Divide { dividend, divisor: 7 }).await?;
    ///     Ok(divided.output()?.quotient)
    /// }
    /// ```
    ///
    /// A server before 2025-06-18 has no structured content: then the JSON of the first text block
    /// is read, if it is an object.
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`CallError::ToolCall`] if the tool failed, or the
    /// structured content is missing or not of its type.
    pub async fn call<T: ToolCall>(&self, arguments: &T) -> Result<TypedResult<T>, CallError> {
        Ok(TypedResult::new(self.call_tool(T::NAME, arguments).await?)?)
    }

    /// Calls a tool. Returns a [`CallToolResult`](mcp_sansio::types::CallToolResult), also if the
    /// tool failed (`isError`).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn call_tool<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, CallError> {
        self.request("tools/call", &Named { name, arguments }, CallOptions::new()).await
    }

    /// Reads a resource. Returns a [`ReadResourceResult`](mcp_sansio::types::ReadResourceResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn read_resource(&self, uri: &str) -> Result<OwnedJson, CallError> {
        self.request("resources/read", &ResourceParams::new(uri), CallOptions::new()).await
    }

    /// Gets a prompt. Returns a [`GetPromptResult`](mcp_sansio::types::GetPromptResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn get_prompt<A: Encode + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Result<OwnedJson, CallError> {
        self.request("prompts/get", &Named { name, arguments }, CallOptions::new()).await
    }

    /// Completes an argument. Returns a [`CompleteResult`](mcp_sansio::types::CompleteResult).
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub async fn complete(&self, params: &CompleteParams<'_>) -> Result<OwnedJson, CallError> {
        self.request("completion/complete", params, CallOptions::new()).await
    }
}
