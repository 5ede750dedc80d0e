//! The life of a server: its configuration, its steps, its bytes.

use core::mem::{take, transmute};
use core::ptr::null_mut;
use core::time::Duration;

use mcp_sansio::internal::{bits_of_request, declare};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Instant, Method, RawJson, Request, RequestHandle, SendError, SendResult, Server,
    ServerConfig, ServerEvent, ServerFeatures, ServerState, Step, Target, Tx,
};

use crate::memory::{
    Live, Stage, begin, buffers, configuration, finish, live, mcp_server, opened, read,
};
use crate::raw::{array, optional, put, text};
use crate::tables::{
    CHECK, Check, Found, Row, Tables, list, mcp_config, mcp_prompt, mcp_resource, mcp_template,
    one, refuse,
};

/// The outcome of a function.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum mcp_status {
    /// Done.
    MCP_OK = 0,
    /// The output has no room, or has room for a part. Write all of it, then make the same call
    /// again, before `mcp_server_next`.
    MCP_FULL = 1,
    /// Not sent, since the client does not want it; or there is no such argument.
    MCP_NONE = 2,
    /// The request has been answered, was cancelled, or has timed out.
    MCP_GONE = 3,
    /// The library is in the middle of a longer message of its own, or an answer to another request
    /// has begun: go on with that one, or with `mcp_server_next`, and make the call again later.
    /// Not in the event of the request itself.
    MCP_BUSY = 4,
    /// A text is NULL, not UTF-8 or not JSON; an argument is of another type or out of range; a
    /// table is wrong.
    MCP_INVALID = -1,
    /// It does not fit: the output buffer, or the memory for an argument.
    MCP_TOO_LARGE = -2,
    /// The server cannot do this now, or has not declared it.
    MCP_NOT_ALLOWED = -3,
    /// The pointer is not that of a server or a client after its `init`.
    MCP_NO_SERVER = -4,
}
use mcp_status::*;

/// The next operation.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum mcp_step {
    /// Nothing, until bytes are written or read, or until the time of `mcp_server_due`.
    MCP_IO = 0,
    /// Something was done without the program: call `mcp_server_next` again.
    MCP_AGAIN = 1,
    /// A tool is called: the one at `index` of the table. Its arguments have been checked against
    /// its schema. Answer the request, now or later; so with all down to `MCP_COMPLETE_TEMPLATE`.
    MCP_TOOL = 2,
    /// The resource at `index` is read.
    MCP_RESOURCE = 3,
    /// A resource is read whose URI matches the template at `index`.
    MCP_TEMPLATE = 4,
    /// The prompt at `index` is asked for.
    MCP_PROMPT = 5,
    /// Values are asked for, of an argument of the prompt at `index`.
    MCP_COMPLETE_PROMPT = 6,
    /// Values are asked for, of a variable of the template at `index`.
    MCP_COMPLETE_TEMPLATE = 7,
    /// The client has cancelled the request: stop working on it. No answer is needed.
    MCP_CANCELLED = 8,
    /// The request was open for too long, and has been answered with an error.
    MCP_TIMED_OUT = 9,
    /// The client has sent something that breaks the protocol, or noise; it has been answered
    /// where the protocol allows that.
    MCP_VIOLATION = 10,
    /// Something else, which needs nothing: a client has connected or subscribed, for example.
    MCP_NOTE = 11,
    /// The input has ended, all requests are answered, and all bytes are written.
    MCP_CLOSED = 12,
    /// Clients: the server has answered, and calls can be made.
    MCP_CONNECTED = 13,
    /// Clients: the server cannot be used. `mcp_client_connect` tries again.
    MCP_CONNECT_FAILED = 14,
    /// Clients: a call has a result, which `mcp_result_...` read.
    MCP_RESULT = 15,
    /// Clients: a call has failed. `code` says why.
    MCP_CALL_FAILED = 16,
    /// Clients: the server reports progress of a call: `mcp_result_...` read `progress`, `total`
    /// and `message`.
    MCP_CALL_PROGRESS = 17,
    /// The pointer is not that of a server or a client.
    MCP_WRONG = -1,
}
use mcp_step::*;

/// The event of a step.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mcp_event {
    /// The request to answer, or that needs no answer any more; otherwise 0.
    pub request: u64,
    /// The place of the tool, resource, template or prompt in its table.
    pub index: usize,
}

const NO_EVENT: mcp_event = mcp_event { request: 0, index: 0 };

/// Makes a server of `config`, which stays as it is, and two buffers: `rx` for what is received,
/// which holds the longest line, and `tx` for what is sent, at least 64 bytes. Longer messages are
/// sent in parts.
///
/// Returns `MCP_INVALID` if a text is missing or not UTF-8, or a schema is not JSON.
/// `mcp_server_check` finds other mistakes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_init(
    server: *mut mcp_server,
    config: *const mcp_config,
    rx: *mut u8,
    rx_size: usize,
    tx: *mut u8,
    tx_size: usize,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { init(server, config, (rx, rx_size), (tx, tx_size), Some(CHECK)) }
}

/// The same, but the arguments of calls are not checked against the schemas of the tools, which
/// then check all of them themselves. Saves flash: the code of the check is not linked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_init_unchecked(
    server: *mut mcp_server,
    config: *const mcp_config,
    rx: *mut u8,
    rx_size: usize,
    tx: *mut u8,
    tx_size: usize,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { init(server, config, (rx, rx_size), (tx, tx_size), None) }
}

#[inline(never)]
unsafe fn init(
    server: *mut mcp_server,
    config: *const mcp_config,
    rx: (*mut u8, usize),
    tx: (*mut u8, usize),
    check: Option<Check>,
) -> mcp_status {
    if server.is_null() || !server.is_aligned() {
        return MCP_NO_SERVER;
    }
    if config.is_null() || !config.is_aligned() {
        return MCP_INVALID;
    }
    // SAFETY: the caller's configuration, texts and tools stay as they are.
    let (info, instructions, tools) = unsafe {
        let config = &*config;
        let (Some(name), Some(version), Some(title), Some(instructions)) = (
            text(config.name),
            text(config.version),
            optional(config.title),
            optional(config.instructions),
        ) else {
            return MCP_INVALID;
        };
        let mut info = Implementation::new(name, version);
        info.title = title;
        (info, instructions, array(config.tools, config.tool_count))
    };
    if !are_valid(tools) {
        return MCP_INVALID;
    }
    let mut config = ServerConfig::new(info, ServerFeatures::NONE);
    config.instructions = instructions;
    if !tools.is_empty() {
        declare_all(&mut config, ServerFeatures::TOOLS);
    }
    // SAFETY: both are memory of the caller that nothing else uses from here on.
    let Some((rx, tx)) = (unsafe { buffers(rx, tx) }) else { return MCP_INVALID };
    let live = Live {
        stage: Stage::Configured { rx, tx },
        tables: Tables::of_tools(tools, check),
        now: Instant::from_millis(0),
        request: None,
        found: None,
        has_ended: false,
        has_gap: false,
    };
    // SAFETY: it is the caller's memory for a server.
    unsafe {
        if begin(server, config, ServerState::new()).is_none() {
            return MCP_NO_SERVER;
        }
        finish(server, live);
    }
    MCP_OK
}

fn are_valid<R: Row>(rows: &[R]) -> bool {
    rows.iter().all(|row| row.value().is_some())
}

// Code for all features, 2.9 KB, is linked unless they are known while compiling.
#[inline(always)]
fn declare_all(config: &mut ServerConfig<'static>, features: ServerFeatures) {
    declare(config, features, features);
}

/// Changes the configuration, before the first `mcp_server_next`.
unsafe fn configure(
    server: *mut mcp_server,
    change: impl FnOnce(&mut ServerConfig<'static>, &mut Tables),
) -> mcp_status {
    // SAFETY: the caller says that it is one.
    match unsafe { configuration(server) } {
        Some((config, tables)) => {
            change(config, tables);
            MCP_OK
        }
        None => MCP_NOT_ALLOWED,
    }
}

/// Adds resources and templates, tables that stay as they are. Before the first `mcp_server_next`,
/// as all functions that add something.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_resources(
    server: *mut mcp_server,
    resources: *const mcp_resource,
    resource_count: usize,
    templates: *const mcp_template,
    template_count: usize,
) -> mcp_status {
    // SAFETY: the caller's tables stay as they are.
    let (resources, templates) =
        unsafe { (array(resources, resource_count), array(templates, template_count)) };
    if !are_valid(resources) || !are_valid(templates) {
        return MCP_INVALID;
    }
    // SAFETY: the caller says that it is one.
    unsafe {
        configure(server, |config, tables| {
            (tables.resources, tables.templates) = (resources, templates);
            tables.of_resources = Some(of_resources);
            declare_all(config, ServerFeatures::RESOURCES);
        })
    }
}

fn of_resources(
    tables: &Tables,
    server: &mut Server<'_>,
    request: &Request<'static>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<Found>> {
    match request.method {
        Method::ResourcesList => return list(tables.resources, server, request, tx),
        Method::ResourcesTemplatesList => return list(tables.templates, server, request, tx),
        _ => {}
    }
    let uri = request.uri();
    if tables.resources.iter().any(|row| uri.is_some_and(|uri| uri == *row.key())) {
        return one(tables.resources, MCP_RESOURCE, uri, server, request, tx);
    }
    let index = tables.templates.iter().position(|row| {
        let Some(template) = row.value() else { return false };
        let entries = [mcp_template::entry(&template)];
        matches!(Catalog::new().templates(&entries).target(request), Ok(Target::Template(_)))
    });
    match index {
        Some(index) => Ok(Some(Found { step: MCP_TEMPLATE, index })),
        None => refuse(&mcp_template::catalog(&[]), server, request, tx),
    }
}

/// Adds prompts, a table that stays as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_prompts(
    server: *mut mcp_server,
    prompts: *const mcp_prompt,
    count: usize,
) -> mcp_status {
    // SAFETY: the caller's table stays as it is.
    let prompts = unsafe { array(prompts, count) };
    if !are_valid(prompts) {
        return MCP_INVALID;
    }
    // SAFETY: the caller says that it is one.
    unsafe {
        configure(server, |config, tables| {
            tables.prompts = prompts;
            tables.of_prompts = Some(|tables, server, request, tx| match request.method {
                Method::PromptsList => list(tables.prompts, server, request, tx),
                _ => one(tables.prompts, MCP_PROMPT, request.name(), server, request, tx),
            });
            declare_all(config, ServerFeatures::PROMPTS);
        })
    }
}

/// Lets clients ask for values of the arguments of prompts, and of the variables of templates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_completions(server: *mut mcp_server) -> mcp_status {
    // SAFETY: the caller says that it is one.
    unsafe {
        configure(server, |config, tables| {
            tables.of_completion = Some(of_completion);
            declare_all(config, ServerFeatures::COMPLETIONS);
        })
    }
}

fn of_completion(
    tables: &Tables,
    server: &mut Server<'_>,
    request: &Request<'static>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<Found>> {
    let reference = request.params.get("ref").unwrap_or(RawJson::EMPTY);
    let string = |name| reference.get(name).and_then(|value| value.as_string());
    if string("type").is_some_and(|kind| kind == *"ref/prompt") {
        one(tables.prompts, MCP_COMPLETE_PROMPT, string("name"), server, request, tx)
    } else {
        one(tables.templates, MCP_COMPLETE_TEMPLATE, string("uri"), server, request, tx)
    }
}

/// Lets the server send log messages (`mcp_log`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_logging(server: *mut mcp_server) -> mcp_status {
    // SAFETY: the caller says that it is one.
    unsafe { configure(server, |config, _| declare_all(config, ServerFeatures::LOGGING)) }
}

/// Lets clients subscribe to changes of the lists and of resources (`mcp_changed`). After the
/// tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_subscriptions(server: *mut mcp_server) -> mcp_status {
    const ALL: [(ServerFeatures, ServerFeatures); 4] = [
        (ServerFeatures::TOOLS, ServerFeatures::TOOLS_LIST_CHANGED),
        (ServerFeatures::RESOURCES, ServerFeatures::RESOURCES_LIST_CHANGED),
        (ServerFeatures::RESOURCES, ServerFeatures::RESOURCES_SUBSCRIBE),
        (ServerFeatures::PROMPTS, ServerFeatures::PROMPTS_LIST_CHANGED),
    ];
    // SAFETY: the caller says that it is one.
    unsafe {
        configure(server, |config, _| {
            let mut changes = ServerFeatures::NONE;
            for (list, its_changes) in ALL {
                if config.capabilities().contains(list) {
                    changes = changes.with(its_changes);
                }
            }
            declare(config, changes, ServerFeatures::RESOURCES_SUBSCRIBE);
        })
    }
}

/// Sets the time in seconds after which an open request is answered with an error. Without this
/// call there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_request_timeout(
    server: *mut mcp_server,
    seconds: u32,
) -> mcp_status {
    let timeout = Duration::from_secs(u64::from(seconds));
    // SAFETY: the caller says that it is one.
    unsafe { configure(server, |config, _| *config = config.request_timeout(timeout)) }
}

/// For a serial line, on which the peer can begin again without an end of the input: a second
/// `initialize`, and an id that is in use, end the requests of the peer before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_peer_can_reconnect(server: *mut mcp_server) -> mcp_status {
    // SAFETY: the caller says that it is one.
    unsafe { configure(server, |config, _| *config = config.peer_can_reconnect(true)) }
}

/// Returns what is to be done next, and what comes with it. `now` is a number of milliseconds since
/// any zero, of a clock that never goes back. `event` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_next(
    server: *mut mcp_server,
    now: u64,
    event: *mut mcp_event,
) -> mcp_step {
    // SAFETY: the caller says that it is one, which no other call uses.
    let Some(live) = (unsafe { opened(server) }) else { return MCP_WRONG };
    live.now = Instant::from_millis(now);
    let (step, happened) = next(live);
    // SAFETY: the caller says that there is memory for an event.
    unsafe { put(event, happened) };
    step
}

fn next(live: &mut Live) -> (mcp_step, mcp_event) {
    // The response of the library goes on before anything else.
    if live.request.is_none() || live.found.is_some() {
        live.request = None;
        let (now, has_ended) = (live.now, live.has_ended);
        let Some(link) = live.free_link() else { return (MCP_WRONG, NO_EVENT) };
        if has_ended {
            link.end_of_input();
        }
        let received = match link.next(now) {
            Step::Event(ServerEvent::Request(request), _) => request,
            Step::Event(event, _) => return told(&event),
            Step::Again => return (MCP_AGAIN, NO_EVENT),
            Step::Io { .. } => return (MCP_IO, NO_EVENT),
            Step::Closed => return (MCP_CLOSED, NO_EVENT),
        };
        // SAFETY: it borrows the receive buffer, which nothing moves or writes to before the next
        // call of `Connection::next`, before which it is dropped, or of `Connection::reset`.
        live.request = Some(unsafe { transmute::<Request<'_>, Request<'static>>(received) });
        live.found = None;
    }
    respond(live)
}

fn told(event: &ServerEvent<'_>) -> (mcp_step, mcp_event) {
    let of = |step, request: RequestHandle| {
        (step, mcp_event { request: bits_of_request(request), index: 0 })
    };
    match event {
        ServerEvent::RequestCancelled { request, .. } => of(MCP_CANCELLED, *request),
        ServerEvent::RequestTimedOut { request } => of(MCP_TIMED_OUT, *request),
        ServerEvent::Violation(_) => (MCP_VIOLATION, NO_EVENT),
        _ => (MCP_NOTE, NO_EVENT),
    }
}

/// Responds to the request that has been received, or says what the application has to respond for.
fn respond(live: &mut Live) -> (mcp_step, mcp_event) {
    let Live { stage: Stage::Open(link), tables, request: Some(request), .. } = live else {
        return (MCP_WRONG, NO_EVENT);
    };
    let (mut server, tx) = link.parts();
    match tables.respond(&mut server, request, tx) {
        Ok(Some(found)) => {
            let event = mcp_event { request: bits_of_request(request.handle), index: found.index };
            live.found = Some(found);
            (found.step, event)
        }
        Err(SendError::Full) => (MCP_IO, NO_EVENT),
        // A table that has changed since it was read.
        Err(_) => {
            let error = mcp_sansio::RpcError::internal("The response cannot be sent");
            if server.fail(request.handle, &error, tx) == Err(SendError::Full) {
                return (MCP_IO, NO_EVENT);
            }
            live.request = None;
            (MCP_AGAIN, NO_EVENT)
        }
        Ok(None) => {
            live.request = None;
            (MCP_AGAIN, NO_EVENT)
        }
    }
}

/// Returns the bytes to write, and their number in `len`. Report with `mcp_server_wrote` how many
/// were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_output(server: *mut mcp_server, len: *mut usize) -> *const u8 {
    // SAFETY: the caller says that it is one.
    let link = unsafe { live(server) }.and_then(Live::link);
    let bytes = link.map(|link| link.tx().pending()).unwrap_or_default();
    // SAFETY: the caller says that there is memory for a number.
    unsafe { put(len, bytes.len()) };
    bytes.as_ptr()
}

/// Records that the first `count` bytes of `mcp_server_output` were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_wrote(server: *mut mcp_server, count: usize) {
    // SAFETY: the caller says that it is one.
    if let Some(link) = unsafe { live(server) }.and_then(Live::link) {
        link.wrote(count);
    }
}

/// Returns memory to read into, and its size in `size`, which is 0 while a message waits for room
/// in the output, while an event has just come, and after the end of the input. Report with
/// `mcp_server_read` how many bytes were read. Do not read if the size is 0: a read of no bytes
/// looks like the end of the input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_input(server: *mut mcp_server, size: *mut usize) -> *mut u8 {
    // SAFETY: the caller says that it is one.
    let live = unsafe { live(server) }.filter(|live| !live.has_ended);
    // The frame of a request may not move.
    let spare = live.and_then(Live::free_link).map(|link| link.rx().spare()).unwrap_or_default();
    // SAFETY: the caller says that there is memory for a number.
    unsafe { put(size, spare.len()) };
    if spare.is_empty() { null_mut() } else { spare.as_mut_ptr() }
}

/// Records that `count` bytes were read into the memory of `mcp_server_input`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_read(server: *mut mcp_server, count: usize) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(server) } {
        let has_gap = count > 0 && live.request.is_none() && take(&mut live.has_gap);
        if let Some(link) = live.link() {
            read(link, has_gap, count);
        }
    }
}

/// Records that bytes were lost, by an overrun of a serial port for example: the line that they
/// belong to is refused. The bytes that `mcp_server_read` reports next came after them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_lost(server: *mut mcp_server) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(server) } {
        live.has_gap = true;
    }
}

/// Records that nothing more can be read. `mcp_server_next` goes on until `MCP_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_end_of_input(server: *mut mcp_server) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(server) } {
        live.has_ended = true;
    }
}

/// Returns the time by which `mcp_server_next` must be called again: 0 if something has waited for
/// the room of bytes that are written now, and the largest number if there is none, or if one that
/// has come waits for room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_due(server: *mut mcp_server) -> u64 {
    // SAFETY: the caller says that it is one.
    let Some(live) = (unsafe { live(server) }) else { return u64::MAX };
    let is_answering = live.request.is_some() && live.found.is_none();
    let Some(link) = live.link() else { return u64::MAX };
    if (is_answering || link.waits_for_room()) && link.tx().pending().is_empty() {
        return 0;
    }
    // Timeouts come after the response.
    link.poll_timeout().filter(|_| !is_answering).map_or(u64::MAX, Instant::as_millis)
}

/// Forgets the client, its requests, and all bytes that were not handled or not written: for the
/// next client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_reset(server: *mut mcp_server) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(server) } {
        (live.request, live.found) = (None, None);
        (live.has_ended, live.has_gap) = (false, false);
        if let Some(link) = live.link() {
            link.reset();
        }
    }
}
