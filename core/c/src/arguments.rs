//! The arguments of the request that the latest event is about.

use core::ffi::c_char;

use mcp_sansio::{Catalog, RawJson, Request, Target};

use crate::memory::{Live, live, mcp_server};
use crate::raw::{put, text};
use crate::server::mcp_status::{self, *};
use crate::tables::Row;

/// Returns the value at a path: names of members and numbers of elements, with slashes between
/// them. Until the next `mcp_server_next`.
unsafe fn at(
    server: *mut mcp_server,
    path: *const c_char,
    root: impl FnOnce(&Request<'static>) -> RawJson<'static>,
) -> Result<RawJson<'static>, mcp_status> {
    // SAFETY: the caller says that it is one, and that the path is a text.
    let (live, path) = unsafe { (live(server).ok_or(MCP_NO_SERVER)?, text(path)) };
    follow(root(live.request.as_ref().ok_or(MCP_GONE)?), path.ok_or(MCP_INVALID)?)
}

pub(crate) fn follow<'f>(mut value: RawJson<'f>, path: &str) -> Result<RawJson<'f>, mcp_status> {
    let mut rest = Some(path);
    while let Some(path) = rest {
        let (name, deeper) = match path.bytes().position(|byte| byte == b'/') {
            Some(at) => (path.get(..at), path.get(at + 1..)),
            None => (Some(path), None),
        };
        let name = name.unwrap_or_default();
        let found = if value.is_array() {
            RawJson::parse(name)
                .ok()
                .and_then(RawJson::as_u64)
                .and_then(|number| value.elements().nth(usize::try_from(number).ok()?))
        } else {
            value.get(name)
        };
        value = found.ok_or(MCP_NONE)?;
        rest = deeper;
    }
    Ok(value)
}

unsafe fn argument(
    server: *mut mcp_server,
    path: *const c_char,
) -> Result<RawJson<'static>, mcp_status> {
    // SAFETY: as in `at`.
    unsafe { at(server, path, |request| request.arguments().as_json()) }
}

/// Reads a value that was found as one of the type `T`.
pub(crate) unsafe fn typed<T>(
    found: Result<RawJson<'static>, mcp_status>,
    to: *mut T,
    read: impl FnOnce(RawJson<'static>) -> Option<T>,
) -> mcp_status {
    match found.map(read) {
        Ok(Some(value)) => {
            // SAFETY: the caller says that there is memory for it.
            unsafe { put(to, value) };
            MCP_OK
        }
        Ok(None) => MCP_INVALID,
        Err(status) => status,
    }
}

/// Reads an argument that is `true` or `false`. All functions `mcp_arg_...` are for the latest
/// event, a call or a prompt, and before the next `mcp_server_next`. `path` is the name of an
/// argument; in a deeper one slashes separate names, and numbers of elements from 0: `pins/0/mode`.
///
/// `MCP_NONE`: there is no such argument; `value` stays as it is. `MCP_INVALID`: it is of another
/// type. `MCP_GONE`: the latest event is no request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_arg_bool(
    server: *mut mcp_server,
    path: *const c_char,
    value: *mut bool,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(argument(server, path), value, RawJson::as_bool) }
}

/// Reads an argument that is a whole number. `MCP_INVALID` also if it has more than 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_arg_i32(
    server: *mut mcp_server,
    path: *const c_char,
    value: *mut i32,
) -> mcp_status {
    let read = |json: RawJson<'_>| json.as_i64().and_then(|value| i32::try_from(value).ok());
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(argument(server, path), value, read) }
}

/// Reads an argument that is a whole number. `MCP_INVALID` also if it has more than 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_arg_i64(
    server: *mut mcp_server,
    path: *const c_char,
    value: *mut i64,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(argument(server, path), value, RawJson::as_i64) }
}

/// Reads an argument that is a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_arg_f64(
    server: *mut mcp_server,
    path: *const c_char,
    value: *mut f64,
) -> mcp_status {
    // SAFETY: the caller keeps to what it says.
    unsafe { typed(argument(server, path), value, RawJson::as_f64) }
}

/// Reads an argument that is a string: its text as UTF-8, with a zero byte behind it.
/// `MCP_TOO_LARGE` if it has no room in `size` bytes. A text with a zero byte in it is
/// `MCP_INVALID`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_arg_str(
    server: *mut mcp_server,
    path: *const c_char,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: as in `at`; the caller says that there is as much memory.
    unsafe { string(argument(server, path), out, size) }
}

/// Reads an argument of any type as JSON text, with a zero byte behind it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_arg_json(
    server: *mut mcp_server,
    path: *const c_char,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: as in `at`; the caller says that there is as much memory.
    unsafe { json(argument(server, path), out, size) }
}

/// Reads a string of the parameters of the request, of which the arguments are a part: `uri` of a
/// resource that is read; `argument/name` and `argument/value` of a completion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_param_str(
    server: *mut mcp_server,
    path: *const c_char,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: as in `at`; the caller says that there is as much memory.
    unsafe { string(at(server, path, |request| request.params.as_json()), out, size) }
}

/// Reads a variable of the template that the URI of the latest event matches (`MCP_TEMPLATE`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_variable(
    server: *mut mcp_server,
    name: *const c_char,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    // SAFETY: the caller says that it is one, and that the name is a text.
    let (live, name) = unsafe { (live(server), text(name)) };
    let Some(live) = live else { return MCP_NO_SERVER };
    let Some(name) = name else { return MCP_INVALID };
    let Live { tables, request: Some(request), found: Some(found), .. } = live else {
        return MCP_GONE;
    };
    let template = tables.templates.get(found.index).and_then(Row::value);
    let (Some(template), Some(uri)) = (template, request.uri()) else { return MCP_NONE };
    let entries = [crate::tables::mcp_template::entry(&template)];
    let Ok(target @ Target::Template(_)) = Catalog::new().templates(&entries).target(request)
    else {
        return MCP_NONE;
    };
    match target.variable(name, uri) {
        // SAFETY: the caller says that there is as much memory.
        Some(value) => unsafe { copy(value, out, size) },
        None => MCP_NONE,
    }
}

/// Copies a string that was found.
pub(crate) unsafe fn string(
    found: Result<RawJson<'_>, mcp_status>,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    match found.map(RawJson::as_string) {
        // SAFETY: the caller says that there is as much memory.
        Ok(Some(text)) => unsafe { copy(text.chars(), out, size) },
        Ok(None) => MCP_INVALID,
        Err(status) => status,
    }
}

/// Copies the text of a value that was found.
pub(crate) unsafe fn json(
    found: Result<RawJson<'_>, mcp_status>,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    match found {
        // SAFETY: the caller says that there is as much memory.
        Ok(value) => unsafe { copy(value.as_str().chars(), out, size) },
        Err(status) => status,
    }
}

/// Copies text, with a zero byte behind it.
pub(crate) unsafe fn copy(
    text: impl Iterator<Item = char>,
    out: *mut c_char,
    size: usize,
) -> mcp_status {
    if out.is_null() || size == 0 {
        return MCP_TOO_LARGE;
    }
    let (out, mut len) = (out.cast::<u8>(), 0);
    let mut status = MCP_OK;
    'all: for c in text {
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            if byte == 0 {
                status = MCP_INVALID;
                break 'all;
            }
            if len + 1 >= size {
                status = MCP_TOO_LARGE;
                break 'all;
            }
            // SAFETY: it is less than the size of the caller's memory.
            unsafe { out.add(len).write(byte) };
            len += 1;
        }
    }
    // SAFETY: as above.
    unsafe { out.add(if status == MCP_OK { len } else { 0 }).write(0) };
    status
}
