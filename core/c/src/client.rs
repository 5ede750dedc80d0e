//! A client: it connects, calls, and reads results.

use core::ffi::c_char;
use core::mem::{take, transmute};
use core::ptr::null_mut;

use mcp_sansio::internal::{Named, bits_of_call, call_of_bits};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, ClientState,
    Connection, Instant, JsonStr, RawJson, RxBuffer, SendError, SendResult, Step, Tx, TxBuffer,
};

use crate::arguments::{copy, follow, json, string, typed};
use crate::memory::{ClientLive, begin, buffers, finish, lend, live, mcp_client, read};
use crate::raw::{self, put};
use crate::replies::{or_busy, status};
use crate::server::mcp_status::{self, *};
use crate::server::mcp_step::{self, *};

/// The event of a step of a client.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mcp_client_event {
    /// The call that the event is about, or 0.
    pub call: u64,
    /// Of `MCP_CALL_FAILED` and `MCP_CONNECT_FAILED`: the code of the server's error, or 0 if there
    /// was no valid answer in time.
    pub code: i32,
}

const NO_EVENT: mcp_client_event = mcp_client_event { call: 0, code: 0 };

/// Makes a client with this name and version, which stay as they are, and two buffers: `rx` for
/// what is received, which holds the longest line, and `tx` for what is sent, at least 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_init(
    client: *mut mcp_client,
    name: *const c_char,
    version: *const c_char,
    rx: *mut u8,
    rx_size: usize,
    tx: *mut u8,
    tx_size: usize,
) -> mcp_status {
    // SAFETY: both are texts that stay as they are.
    let (Some(name), Some(version)) = (unsafe { (raw::text(name), raw::text(version)) }) else {
        return MCP_INVALID;
    };
    let config = ClientConfig::new(Implementation::new(name, version), ClientFeatures::NONE);
    // SAFETY: all of it is memory of the caller that nothing else uses from here on.
    unsafe {
        if begin(client, config, ClientState::new()).is_none() {
            return MCP_NO_SERVER;
        }
        let Some((rx, tx)) = buffers((rx, rx_size), (tx, tx_size)) else { return MCP_INVALID };
        let (config, state) = lend(client);
        let link = Connection::new(config, state, RxBuffer::new(rx), TxBuffer::new(tx));
        let live =
            ClientLive { link, value: None, message: None, has_ended: false, has_gap: false };
        finish(client, live);
    }
    MCP_OK
}

/// Makes a call of the machine.
unsafe fn with<T>(
    client: *mut mcp_client,
    call: impl FnOnce(&mut Client<'_>, &mut Tx<'_>) -> SendResult<T>,
) -> Result<T, mcp_status> {
    // SAFETY: the caller says that it is one.
    let live = unsafe { live(client) }.ok_or(MCP_NO_SERVER)?;
    let (mut machine, tx) = live.link.parts();
    call(&mut machine, tx).map_err(|error| or_busy(status(Err(error)), tx))
}

/// Connects, in the era that the server speaks: `MCP_CONNECTED` or `MCP_CONNECT_FAILED` comes
/// later. What was open before is forgotten, and a call that is partly written is cut off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_connect(client: *mut mcp_client, now: u64) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    let done = unsafe {
        with(client, |machine, tx| {
            machine.abort_frame(tx)?;
            // `initialize` that the library writes would be gone on with as this probe.
            if tx.is_mid_frame() && machine.open_calls() > 0 {
                return Err(SendError::Full);
            }
            while machine.close().is_some() {}
            machine.set_era(None);
            machine.connect(Instant::from_millis(now), tx)
        })
    };
    done.err().unwrap_or(MCP_OK)
}

/// Calls a tool with arguments, a JSON object, or NULL for none, and asks for its progress. `call`
/// gets the number by which events name it; without an answer for 60 seconds from `now` it fails.
/// On `MCP_FULL` write the output and make the same call again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_call(
    client: *mut mcp_client,
    now: u64,
    tool: *const c_char,
    arguments: *const c_char,
    call: *mut u64,
) -> mcp_status {
    // SAFETY: the caller says that it is a text.
    let (Some(name), Some(arguments)) = (unsafe { (raw::text(tool), object(arguments)) }) else {
        return MCP_INVALID;
    };
    let (now, params) = (Instant::from_millis(now), Named { name, arguments: &arguments });
    // SAFETY: the caller keeps to what it says.
    unsafe {
        let made = with(client, |machine, tx| {
            machine.request(now, "tools/call", &params, CallOptions::new().progress(true), tx)
        });
        number(made, call)
    }
}

/// Makes a request with any method of MCP, such as `tools/list`, and its parameters, a JSON object,
/// or NULL for none. For the rest as `mcp_client_call`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_request(
    client: *mut mcp_client,
    now: u64,
    method: *const c_char,
    params: *const c_char,
    call: *mut u64,
) -> mcp_status {
    // SAFETY: the caller says that these are texts.
    let (Some(method), Some(params)) = (unsafe { (raw::text(method), object(params)) }) else {
        return MCP_INVALID;
    };
    // SAFETY: the caller keeps to what it says.
    unsafe {
        let made = with(client, |machine, tx| {
            machine.request(Instant::from_millis(now), method, &params, CallOptions::new(), tx)
        });
        number(made, call)
    }
}

unsafe fn object<'a>(json: *const c_char) -> Option<RawJson<'a>> {
    if json.is_null() {
        return Some(RawJson::EMPTY);
    }
    // SAFETY: the caller says that it is a text.
    unsafe { raw::json(json) }.filter(|json| json.is_object())
}

unsafe fn number(made: Result<Call, mcp_status>, place: *mut u64) -> mcp_status {
    match made {
        Ok(call) => {
            // SAFETY: the caller says that there is memory for it.
            unsafe { put(place, bits_of_call(call)) };
            MCP_OK
        }
        Err(status) => status,
    }
}

/// Cancels a call. No event follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_cancel(client: *mut mcp_client, call: u64) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    let done =
        unsafe { with(client, |machine, tx| machine.cancel_call(call_of_bits(call), None, tx)) };
    done.err().unwrap_or(MCP_OK)
}

/// Returns what is to be done next, as `mcp_server_next`: `MCP_IO`, `MCP_AGAIN`, `MCP_CLOSED`,
/// `MCP_VIOLATION`, `MCP_NOTE`, or one of the steps for clients.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_next(
    client: *mut mcp_client,
    now: u64,
    event: *mut mcp_client_event,
) -> mcp_step {
    // SAFETY: the caller says that it is one, which no other call uses.
    let Some(live) = (unsafe { live(client) }) else { return MCP_WRONG };
    let (step, happened) = next(live, Instant::from_millis(now));
    // SAFETY: the caller says that there is memory for an event.
    unsafe { put(event, happened) };
    step
}

fn next(live: &mut ClientLive, now: Instant) -> (mcp_step, mcp_client_event) {
    (live.value, live.message) = (None, None);
    let has_ended = live.has_ended;
    let Some(link) = live.free_link() else { return (MCP_WRONG, NO_EVENT) };
    if has_ended {
        link.end_of_input();
    }
    let received = match link.next(now) {
        Step::Event(received, _) => received,
        Step::Again => return (MCP_AGAIN, NO_EVENT),
        Step::Io { .. } => return (MCP_IO, NO_EVENT),
        Step::Closed => return (MCP_CLOSED, NO_EVENT),
    };
    let (mut value, mut message, mut event) = (None, None, NO_EVENT);
    let step = match received {
        ClientEvent::Connected(connected) => {
            value = Some(connected.result);
            MCP_CONNECTED
        }
        ClientEvent::ConnectFailed(error) => {
            if let mcp_sansio::ConnectError::Refused(error) = error {
                (event.code, message) = (code(error.code()), error.message());
            }
            MCP_CONNECT_FAILED
        }
        ClientEvent::CallFinished { call, outcome } => {
            event.call = bits_of_call(call);
            match outcome {
                CallOutcome::Result(result) => {
                    value = Some(result);
                    MCP_RESULT
                }
                outcome => {
                    if let CallOutcome::Error(error) = outcome {
                        (event.code, message) = (code(error.code()), error.message());
                    }
                    MCP_CALL_FAILED
                }
            }
        }
        ClientEvent::Progress { call, params } => {
            event.call = bits_of_call(call);
            value = Some(params);
            MCP_CALL_PROGRESS
        }
        ClientEvent::Violation(_) => MCP_VIOLATION,
        _ => MCP_NOTE,
    };
    // SAFETY: both borrow the receive buffer, which nothing moves or writes to before the next call
    // of `Connection::next` or `reset`, before which they are dropped.
    (live.value, live.message) = unsafe {
        (
            transmute::<Option<RawJson<'_>>, Option<RawJson<'static>>>(value),
            transmute::<Option<JsonStr<'_>>, Option<JsonStr<'static>>>(message),
        )
    };
    (step, event)
}

fn code(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MIN)
}

/// Returns the value at a path of what the latest event is about.
unsafe fn at(client: *mut mcp_client, path: *const c_char) -> Result<RawJson<'static>, mcp_status> {
    // SAFETY: the caller says that it is one, and that the path is a text.
    let (live, path) = unsafe { (live(client).ok_or(MCP_NO_SERVER)?, raw::text(path)) };
    follow(live.value.ok_or(MCP_GONE)?, path.ok_or(MCP_INVALID)?)
}

/// Reads `true` or `false` at a path of the result of the latest event, before the next
/// `mcp_client_next`. Paths and statuses are those of `mcp_arg_bool`; so with all functions
/// `mcp_result_...`. `isError` says whether a tool failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_result_bool(
    client: *mut mcp_client,
    path: *const c_char,
    to: *mut bool,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(at(client, path), to, RawJson::as_bool) }
}

/// Reads a whole number of at most 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_result_i32(
    client: *mut mcp_client,
    path: *const c_char,
    to: *mut i32,
) -> mcp_status {
    let read = |json: RawJson<'_>| json.as_i64().and_then(|number| i32::try_from(number).ok());
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(at(client, path), to, read) }
}

/// Reads a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_result_f64(
    client: *mut mcp_client,
    path: *const c_char,
    to: *mut f64,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(at(client, path), to, RawJson::as_f64) }
}

/// Reads a string, as `mcp_arg_str`: `content/0/text` is the first text of a tool's result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_result_str(
    client: *mut mcp_client,
    path: *const c_char,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: as in `at`; the caller says that there is as much memory.
    unsafe { string(at(client, path), out, size) }
}

/// Reads any value as JSON text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_result_json(
    client: *mut mcp_client,
    path: *const c_char,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: as in `at`; the caller says that there is as much memory.
    unsafe { json(at(client, path), out, size) }
}

/// Reads the server's words of `MCP_CALL_FAILED` or `MCP_CONNECT_FAILED`; `MCP_NONE` if it has sent
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_message(
    client: *mut mcp_client,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: the caller says that it is one.
    let Some(live) = (unsafe { live(client) }) else { return MCP_NO_SERVER };
    match live.message {
        // SAFETY: the caller says that there is as much memory.
        Some(message) => unsafe { copy(message.chars(), out, size) },
        None => MCP_NONE,
    }
}

/// Returns the bytes to write, as `mcp_server_output`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_output(client: *mut mcp_client, len: *mut usize) -> *const u8 {
    // SAFETY: the caller says that it is one.
    let live = unsafe { live(client) };
    let bytes = live.map(|live| live.link.tx().pending()).unwrap_or_default();
    // SAFETY: the caller says that there is memory for a number.
    unsafe { put(len, bytes.len()) };
    bytes.as_ptr()
}

/// Records that the first `count` bytes of `mcp_client_output` were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_wrote(client: *mut mcp_client, count: usize) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(client) } {
        live.link.wrote(count);
    }
}

/// Returns memory to read into, as `mcp_server_input`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_input(client: *mut mcp_client, size: *mut usize) -> *mut u8 {
    // SAFETY: the caller says that it is one.
    let live = unsafe { live(client) }.filter(|live| !live.has_ended);
    // The frame of a result may not move.
    let link = live.and_then(ClientLive::free_link);
    let spare = link.map(|link| link.rx().spare()).unwrap_or_default();
    // SAFETY: the caller says that there is memory for a number.
    unsafe { put(size, spare.len()) };
    if spare.is_empty() { null_mut() } else { spare.as_mut_ptr() }
}

/// Records that `count` bytes were read into the memory of `mcp_client_input`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_read(client: *mut mcp_client, count: usize) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(client) } {
        let is_free = live.value.is_none() && live.message.is_none();
        let has_gap = count > 0 && is_free && take(&mut live.has_gap);
        read(&mut live.link, has_gap, count);
    }
}

/// Records that bytes were lost, as `mcp_server_lost`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_lost(client: *mut mcp_client) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(client) } {
        live.has_gap = true;
    }
}

/// Records that nothing more can be read: open calls fail, then comes `MCP_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_end_of_input(client: *mut mcp_client) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(client) } {
        live.has_ended = true;
    }
}

/// Returns the time by which `mcp_client_next` must be called again, as `mcp_server_due`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_due(client: *mut mcp_client) -> u64 {
    // SAFETY: the caller says that it is one.
    let Some(live) = (unsafe { live(client) }) else { return u64::MAX };
    if live.link.waits_for_room() && live.link.tx().pending().is_empty() {
        return 0;
    }
    live.link.poll_timeout().map_or(u64::MAX, Instant::as_millis)
}

/// Forgets the server, its calls, and all bytes that were not handled or not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_reset(client: *mut mcp_client) {
    // SAFETY: the caller says that it is one.
    if let Some(live) = unsafe { live(client) } {
        (live.value, live.message) = (None, None);
        (live.has_ended, live.has_gap) = (false, false);
        live.link.reset();
    }
}
