//! Answers to requests, and messages about them.

use core::ffi::c_char;

use mcp_sansio::internal::{LEVELS, request_of_bits};
use mcp_sansio::types::{
    CompleteResult, Completion, GetPromptResult, PromptMessage, ReadResourceResult,
    ResourceContents, ResourceData, Text, TextResult,
};
use mcp_sansio::{
    Change, Delivery, Encode, ErrorCode, LogMessage, Progress, RequestHandle, RpcError, SendError,
    SendResult, Server, Tx,
};

use crate::memory::{Live, live, mcp_server};
use crate::raw::{self, array, optional};
use crate::server::mcp_status::{self, *};

pub(crate) fn status(result: SendResult) -> mcp_status {
    match result {
        Ok(()) => MCP_OK,
        Err(SendError::Full) => MCP_FULL,
        Err(SendError::TooLarge) => MCP_TOO_LARGE,
        Err(SendError::Invalid(_)) => MCP_INVALID,
        Err(_) => MCP_NOT_ALLOWED,
    }
}

/// Writing what is pending gives no room to a call if another message is partly written.
pub(crate) fn or_busy(status: mcp_status, tx: &Tx<'_>) -> mcp_status {
    if status == MCP_FULL && tx.pending().is_empty() { MCP_BUSY } else { status }
}

fn delivered(result: SendResult<Delivery>) -> mcp_status {
    match result {
        Ok(Delivery::Sent) => MCP_OK,
        Ok(Delivery::Gone) => MCP_GONE,
        Ok(_) => MCP_NONE,
        Err(error) => status(Err(error)),
    }
}

/// Makes a call of the machine about an open request.
unsafe fn with(
    server: *mut mcp_server,
    request: u64,
    call: &mut dyn FnMut(&mut Server<'_>, RequestHandle, &mut Tx<'_>) -> SendResult,
) -> mcp_status {
    // SAFETY: the caller says that it is one.
    let Some(link) = (unsafe { live(server) }).and_then(Live::link) else { return MCP_NO_SERVER };
    let (mut machine, tx) = link.parts();
    let handle = request_of_bits(request);
    if !machine.is_request_open(handle) {
        return MCP_GONE;
    }
    let sent = call(&mut machine, handle, tx);
    or_busy(status(sent), tx)
}

/// Answers with a result.
unsafe fn reply(server: *mut mcp_server, request: u64, result: &dyn Encode) -> mcp_status {
    // SAFETY: the caller says that it is one.
    unsafe {
        with(server, request, &mut |machine, handle, tx| machine.respond(handle, &result, tx))
    }
}

unsafe fn reply_text(
    server: *mut mcp_server,
    request: u64,
    text: *const c_char,
    is_error: bool,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(text) = (unsafe { raw::text(text) }) else { return MCP_INVALID };
    let mut result = TextResult::new(text);
    result.is_error = is_error;
    // SAFETY: the caller says that it is one.
    unsafe { reply(server, request, &result) }
}

/// Answers a call with text, of any length. On `MCP_FULL` write the output and call again with the
/// same text: what has been written is not written again. So with all functions `mcp_reply_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_text(
    server: *mut mcp_server,
    request: u64,
    text: *const c_char,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { reply_text(server, request, text, false) }
}

/// Answers a call with an error of the tool, in words by which a model can correct itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_error(
    server: *mut mcp_server,
    request: u64,
    text: *const c_char,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { reply_text(server, request, text, true) }
}

/// Answers a call with a structured result, JSON text that conforms to the output schema of the
/// tool. It is sent as text, too, for older clients.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_json(
    server: *mut mcp_server,
    request: u64,
    json: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(json) = (unsafe { raw::json(json) }) else { return MCP_INVALID };
    // SAFETY: the caller says that it is one.
    unsafe {
        with(server, request, &mut |machine, handle, tx| {
            machine.respond_structured(handle, json, tx)
        })
    }
}

/// Answers any request with all of its result, a JSON object of the schema of MCP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_result(
    server: *mut mcp_server,
    request: u64,
    json: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(json) = (unsafe { raw::json(json) }) else { return MCP_INVALID };
    // SAFETY: the caller says that it is one.
    unsafe { reply(server, request, &json) }
}

/// Answers any request with an error of JSON-RPC: -32603 for an internal one, or a number of the
/// program's own outside of -32768 to -32000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_fail(
    server: *mut mcp_server,
    request: u64,
    code: i32,
    message: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(message) = (unsafe { raw::text(message) }) else { return MCP_INVALID };
    let error = RpcError::new(ErrorCode::from_number(code), message);
    // SAFETY: the caller says that it is one.
    unsafe {
        with(server, request, &mut |machine, handle, tx| machine.respond_error(handle, &error, tx))
    }
}

/// Gives up an answer that has begun, after `MCP_FULL`, or answers with an error -32603.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_abandon(server: *mut mcp_server, request: u64) -> mcp_status {
    let error = RpcError::internal("The response was given up");
    // SAFETY: the caller says that it is one.
    unsafe { with(server, request, &mut |machine, handle, tx| machine.fail(handle, &error, tx)) }
}

/// Answers `resources/read`. A null URI is that of the latest event.
unsafe fn contents(
    server: *mut mcp_server,
    request: u64,
    uri: *const c_char,
    mime_type: *const c_char,
    data: ResourceData<'_>,
) -> mcp_status {
    // SAFETY: the caller says that these are texts.
    let (Some(uri), Some(mime_type)) = (unsafe { (optional(uri), optional(mime_type)) }) else {
        return MCP_INVALID;
    };
    // SAFETY: the caller says that it is one.
    let Some(live) = (unsafe { live(server) }) else { return MCP_NO_SERVER };
    let own = live.request.as_ref().and_then(|request| request.uri()).map(Text::from_json);
    let Some(uri) = uri.or(own) else { return MCP_INVALID };
    let mut contents = ResourceContents::new(uri, data);
    contents.mime_type = mime_type;
    let contents = [contents];
    // SAFETY: the caller says that it is one.
    unsafe { reply(server, request, &ReadResourceResult::new(&contents)) }
}

/// Answers `resources/read` with text. `uri` may be NULL before the next `mcp_server_next`: then it
/// is that of the request. `mime_type` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_contents(
    server: *mut mcp_server,
    request: u64,
    uri: *const c_char,
    mime_type: *const c_char,
    text: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(text) = (unsafe { raw::text(text) }) else { return MCP_INVALID };
    // SAFETY: the caller keeps to what it says.
    unsafe { contents(server, request, uri, mime_type, ResourceData::Text(Text::new(text))) }
}

/// Answers `resources/read` with bytes, which are sent as base64. For the rest as
/// `mcp_reply_contents`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_blob(
    server: *mut mcp_server,
    request: u64,
    uri: *const c_char,
    mime_type: *const c_char,
    bytes: *const u8,
    len: usize,
) -> mcp_status {
    // SAFETY: the caller says that there are as many bytes.
    let bytes = unsafe { array(bytes, len) };
    let data = ResourceData::Blob(mcp_sansio::types::Blob::new(bytes));
    // SAFETY: the caller keeps to what it says.
    unsafe { contents(server, request, uri, mime_type, data) }
}

/// Answers `prompts/get` with one message of the user.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_prompt(
    server: *mut mcp_server,
    request: u64,
    text: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(text) = (unsafe { raw::text(text) }) else { return MCP_INVALID };
    let messages = [PromptMessage::user(text)];
    // SAFETY: the caller says that it is one.
    unsafe { reply(server, request, &GetPromptResult::new(&messages)) }
}

/// Answers a completion with values, at most 16 of those that are handed over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reply_values(
    server: *mut mcp_server,
    request: u64,
    values: *const *const c_char,
    count: usize,
) -> mcp_status {
    const MOST: usize = 16;
    // SAFETY: the caller says that there are as many.
    let pointers = unsafe { array(values, count) };
    let mut values = [Text::new(""); MOST];
    for (value, pointer) in values.iter_mut().zip(pointers) {
        // SAFETY: the caller says that it is a text.
        let Some(text) = (unsafe { raw::text(*pointer) }) else { return MCP_INVALID };
        *value = Text::new(text);
    }
    let given = values.get(..pointers.len().min(MOST)).unwrap_or_default();
    let mut completion = Completion::new(given);
    completion.has_more = (pointers.len() > MOST).then_some(true);
    // SAFETY: the caller says that it is one.
    unsafe { reply(server, request, &CompleteResult::new(completion)) }
}

/// Reports progress of a request, if the client has asked for it (otherwise `MCP_NONE`). `total` of
/// 0 is unknown; `message` may be NULL. `done` must grow. On `MCP_FULL` it may be dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_progress(
    server: *mut mcp_server,
    request: u64,
    done: u32,
    total: u32,
    message: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let Some(message) = (unsafe { optional::<&str>(message) }) else { return MCP_INVALID };
    // SAFETY: the caller says that it is one.
    let Some(live) = (unsafe { live(server) }) else { return MCP_NO_SERVER };
    let now = live.now;
    let mut progress = Progress::of(done);
    if total > 0 {
        progress = progress.total(total);
    }
    if let Some(message) = message {
        progress = progress.message(message);
    }
    let Some(link) = live.link() else { return MCP_NO_SERVER };
    let (mut machine, tx) = link.parts();
    let sent = machine.progress(now, request_of_bits(request), &progress, tx);
    or_busy(delivered(sent), tx)
}

/// Log level: details.
pub const MCP_DEBUG: u8 = 0;
/// Log level: normal operation.
pub const MCP_INFO: u8 = 1;
/// Log level: a warning.
pub const MCP_WARNING: u8 = 3;
/// Log level: an error.
pub const MCP_ERROR: u8 = 4;

/// Sends a log message that belongs to a request, if the client wants messages of this level
/// (otherwise `MCP_NONE`). Levels are those of syslog, 0 for debug to 7 for emergency. `logger` may
/// be NULL. On `MCP_FULL` it may be dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_log(
    server: *mut mcp_server,
    request: u64,
    level: u8,
    logger: *const c_char,
    text: *const c_char,
) -> mcp_status {
    // SAFETY: the caller says that these are texts.
    let (logger, text) = unsafe { (optional(logger), raw::text(text)) };
    let (Some(level), Some(logger), Some(text)) = (LEVELS.get(usize::from(level)), logger, text)
    else {
        return MCP_INVALID;
    };
    let mut message = LogMessage::new(*level, text);
    message.logger = logger;
    // SAFETY: the caller says that it is one.
    let Some(link) = (unsafe { live(server) }).and_then(Live::link) else { return MCP_NO_SERVER };
    let (mut machine, tx) = link.parts();
    let sent = machine.log(request_of_bits(request), &message, tx);
    or_busy(delivered(sent), tx)
}

/// Change: of the list of tools.
pub const MCP_TOOLS_CHANGED: u8 = 0;
/// Change: of the list of resources or templates.
pub const MCP_RESOURCES_CHANGED: u8 = 1;
/// Change: of the list of prompts.
pub const MCP_PROMPTS_CHANGED: u8 = 2;
/// Change: of the resource `uri`.
pub const MCP_RESOURCE_CHANGED: u8 = 3;

/// A change that clients who have subscribed to it are told of.
#[repr(C)]
pub struct mcp_change {
    /// The URI of the resource, for `MCP_RESOURCE_CHANGED`.
    pub uri: *const c_char,
    /// `MCP_TOOLS_CHANGED` and others.
    pub kind: u8,
    /// Whom `mcp_changed` tells next. 0 at first, and again after `MCP_OK`.
    pub position: u16,
}

/// Tells clients of a change. On `MCP_FULL` write the output and call again with the same change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_changed(
    server: *mut mcp_server,
    change: *mut mcp_change,
) -> mcp_status {
    if change.is_null() || !change.is_aligned() {
        return MCP_INVALID;
    }
    // SAFETY: the caller says that it is one, and that it is a server.
    let (change, live) = unsafe { (&mut *change, live(server)) };
    let Some(link) = live.and_then(Live::link) else { return MCP_NO_SERVER };
    let mut next = match change.kind {
        MCP_TOOLS_CHANGED => Change::tools(),
        MCP_RESOURCES_CHANGED => Change::resources(),
        MCP_PROMPTS_CHANGED => Change::prompts(),
        MCP_RESOURCE_CHANGED => {
            // SAFETY: the caller says that it is a text.
            let Some(uri) = (unsafe { raw::text(change.uri) }) else { return MCP_INVALID };
            Change::resource(uri)
        }
        _ => return MCP_INVALID,
    }
    .resume(change.position);
    let (mut machine, tx) = link.parts();
    loop {
        let sent = machine.publish(&mut next, tx);
        change.position = next.position();
        match sent {
            Ok(remaining) if remaining.is_more() => {}
            Ok(_) => {
                change.position = 0;
                return MCP_OK;
            }
            Err(error) => return or_busy(status(Err(error)), tx),
        }
    }
}

/// Returns whether the request waits for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_is_open(server: *mut mcp_server, request: u64) -> bool {
    // SAFETY: the caller says that it is one.
    let link = unsafe { live(server) }.and_then(Live::link);
    link.is_some_and(|link| link.machine().is_request_open(request_of_bits(request)))
}
