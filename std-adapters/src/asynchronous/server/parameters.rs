//! The parameters of requests that are no calls of tools, and their results.

use mcp_sansio::typed::Prompts;
use mcp_sansio::types::{
    CompleteParams, CompleteResult, Completion, GetPromptResult, PromptMessage, ReadResourceResult,
    ResourceContents, ResourceData, Text, TextResult,
};
use mcp_sansio::{
    ErrorCode, Method, OrToolError as _, OwnedJson, RawJson, RpcError, Target, ToolError,
};

use super::context::Context;
use super::reply::HandlerResult;

impl Context {
    /// Reads the prompt that a `prompts/get` is for.
    ///
    /// # Errors
    /// If the arguments are invalid, which a catalog with
    /// [`prompts_of`](mcp_sansio::Catalog::prompts_of) has found before. -32601 if the request is
    /// for none of these prompts: see [`target`](Self::target).
    pub fn prompt<'c, P: Prompts<'c>>(&'c self) -> Result<P, ToolError<'static>> {
        match P::from_request(&self.unread_request()) {
            Some(prompt) => prompt.or_arguments(),
            None => Err(method_not_found()),
        }
    }

    /// Returns the value of a variable of the template that the URI of a `resources/read` matches.
    /// Empty if the template has no such variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> String {
        let (target, uri) = (self.target(), self.unread_request().uri());
        let value = uri.and_then(|uri| target.variable(name, uri));
        value.map(Iterator::collect).unwrap_or_default()
    }

    /// Returns the error for a URI that matches a template, but is of no resource.
    #[must_use]
    pub fn resource_not_found(&self) -> ToolError<'static> {
        let request = self.unread_request();
        let error = match request.uri() {
            Some(uri) => RpcError::resource_not_found(uri),
            None => RpcError::invalid_params("uri must be a string"),
        };
        ToolError::from(error).into_owned()
    }

    /// Serializes a text as the result of the request: the text of a tool, the contents of the
    /// resource, with the media type that the catalog has for it, or a prompt that is one message
    /// of the user.
    ///
    /// # Errors
    /// As [`reply`](Self::reply); if the request is of another method.
    pub fn text(&self, text: &str) -> HandlerResult {
        let request = self.request()?;
        match request.method {
            Method::ResourcesRead => {
                let uri = request.uri().map_or(Text::default(), Text::from_json);
                let mut contents = ResourceContents::new(uri, ResourceData::Text(Text::new(text)));
                let entry = match self.target() {
                    Target::Resource(entry) | Target::Template(entry) => {
                        Some(OwnedJson::new(entry, request.revision)?)
                    }
                    _ => None,
                };
                let mime_type = entry.as_ref().and_then(|entry| entry.as_raw().get("mimeType"));
                contents.mime_type = mime_type.and_then(RawJson::as_string).map(Text::from_json);
                self.reply(&ReadResourceResult::new(&[contents]))
            }
            Method::PromptsGet => self.reply(&GetPromptResult::new(&[PromptMessage::user(text)])),
            _ => self.reply(&TextResult::new(text)),
        }
    }

    /// Serializes the result of a `completion/complete`: those values that begin with what was
    /// typed. The function gets the name of the argument, or of the variable, and returns all its
    /// values. The first 100 that match are sent.
    ///
    /// ```
    /// # use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};
    /// async fn complete(ctx: Context) -> HandlerResult {
    ///     ctx.complete(|name| match name {
    ///         "city" => vec!["Bergen", "Oslo", "Paris"],
    ///         _ => vec![],
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`reply`](Self::reply); -32602 if the parameters are invalid, and -32601 for
    /// other methods.
    pub fn complete<I>(&self, values: impl FnOnce(&str) -> I) -> HandlerResult
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        let request = self.request()?;
        if request.method != Method::CompletionComplete {
            return Err(method_not_found());
        }
        let params: CompleteParams<'_> = request.params.to().or_arguments()?;
        let typed = params.argument.value.to_string();
        let mut values: Vec<_> = values(&params.argument.name.to_string()).into_iter().collect();
        values.retain(|value| value.as_ref().starts_with(&typed));
        let values: Vec<_> = values.iter().map(|value| Text::new(value.as_ref())).collect();
        self.reply(&CompleteResult::new(Completion::new(&values)))
    }
}

/// The error for a request that a handler is not for.
pub(crate) fn method_not_found() -> ToolError<'static> {
    RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()
}
