//! Results that a server's handlers return, as JSON.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use mcp_sansio::types::{
    CompleteParams, CompleteResult, Completion, GetPromptResult, PromptMessage, ReadResourceResult,
    ResourceContents, ResourceData, Text, TextResult,
};
use mcp_sansio::{
    Encode, ErrorCode, Method, OrToolError as _, OwnedJson, RawJson, Request, RpcError, Target,
    ToolError,
};

/// The result of a handler.
pub type HandlerJson = Result<OwnedJson, ToolError<'static>>;

/// Serializes the result of a request.
///
/// # Errors
/// It cannot be serialized, or is not an object with the members that the method requires.
pub fn result_of<T: Encode + ?Sized>(request: &Request<'_>, result: &T) -> HandlerJson {
    let result = OwnedJson::new(result, request.revision)?;
    let required = match request.method {
        Method::ToolsCall => Some("content"),
        Method::ResourcesRead => Some("contents"),
        Method::PromptsGet => Some("messages"),
        Method::CompletionComplete => Some("completion"),
        _ => None,
    };
    let has = |member| result.as_json().get(member).is_some();
    if result.as_json().is_object() && (required.is_none_or(has) || has("resultType")) {
        return Ok(result);
    }
    let member = required.map_or(String::new(), |member| format!(" with the member {member:?}"));
    let message =
        format!("The handler's result is not a JSON object{member}, which this method requires");
    Err(ToolError::from(RpcError::internal(&message)).into_owned())
}

/// Serializes a text as the result of a request: the text of a tool, the contents of the resource,
/// with the media type that the catalog has for it, or a prompt that is one message of the user.
///
/// # Errors
/// As [`result_of`].
pub fn text_of(request: &Request<'_>, target: &Target<'_>, text: &str) -> HandlerJson {
    match request.method {
        Method::ResourcesRead => {
            let uri = request.uri().map_or(Text::default(), Text::from_json);
            let mut contents = ResourceContents::new(uri, ResourceData::Text(Text::new(text)));
            let entry = match target {
                Target::Resource(entry) | Target::Template(entry) => {
                    Some(OwnedJson::new(entry, request.revision)?)
                }
                _ => None,
            };
            let mime_type = entry.as_ref().and_then(|entry| entry.as_json().get("mimeType"));
            contents.mime_type = mime_type.and_then(RawJson::as_string).map(Text::from_json);
            result_of(request, &ReadResourceResult::new(&[contents]))
        }
        Method::PromptsGet => {
            result_of(request, &GetPromptResult::new(&[PromptMessage::user(text)]))
        }
        _ => result_of(request, &TextResult::new(text)),
    }
}

/// Serializes the result of a `completion/complete`: those values that begin with what was typed,
/// the first 100 of them. `values` gets the name of the argument or of the variable.
///
/// # Errors
/// As [`result_of`]; -32602 if the parameters are invalid, and -32601 for other methods.
pub fn completion_of<I>(request: &Request<'_>, values: impl FnOnce(&str) -> I) -> HandlerJson
where
    I: IntoIterator<Item: AsRef<str>>,
{
    if request.method != Method::CompletionComplete {
        return Err(method_not_found());
    }
    let params: CompleteParams<'_> = request.params.to().or_arguments()?;
    let typed = params.argument.value.to_string();
    let mut values: Vec<_> = values(&params.argument.name.to_string()).into_iter().collect();
    values.retain(|value| value.as_ref().starts_with(&typed));
    let values: Vec<_> = values.iter().map(|value| Text::new(value.as_ref())).collect();
    result_of(request, &CompleteResult::new(Completion::new(&values)))
}

/// The error for a request that a handler is not for.
pub fn method_not_found() -> ToolError<'static> {
    RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()
}

/// The same of an application that may have forgotten its catalog.
pub fn nothing_found() -> ToolError<'static> {
    let message = "Method not found, and there is no catalog: App::catalog";
    RpcError::new(ErrorCode::MethodNotFound, message).into()
}
