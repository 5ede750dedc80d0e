//! A program in C, in Rust: a server in memory of its own, and a peer that hands bytes over in
//! pieces of any size.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use mcp_sansio_c::{mcp_step::*, *};

/// A server and its buffers. All are used through pointers, as C uses them.
pub struct Host {
    pub server: *mut mcp_server,
    rx: *mut [u8],
    tx: *mut [u8],
    pub now: u64,
    pub sent: Vec<u8>,
    /// Most bytes that are read or written at once.
    pub piece: usize,
}

impl Host {
    pub fn new(config: &'static mcp_config, rx: usize, tx: usize) -> Self {
        let server = Box::into_raw(Box::new(mcp_server::new()));
        let rx = Box::into_raw(vec![0; rx].into_boxed_slice());
        let tx = Box::into_raw(vec![0; tx].into_boxed_slice());
        // SAFETY: all of it is memory that only this server uses until it is dropped.
        let made =
            unsafe { mcp_server_init(server, config, rx.cast(), rx.len(), tx.cast(), tx.len()) };
        assert_eq!(made, mcp_status::MCP_OK);
        Self { server, rx, tx, now: 0, sent: Vec::new(), piece: usize::MAX }
    }

    pub fn next(&mut self) -> (mcp_step, mcp_event) {
        let mut event = mcp_event { request: 0, index: 0 };
        // SAFETY: it is a server.
        let step = unsafe { mcp_server_next(self.server, self.now, &mut event) };
        (step, event)
    }

    /// Writes some of the output. Returns whether there was any.
    pub fn flush(&mut self) -> bool {
        let mut len = 0;
        // SAFETY: it is a server, and its output is read before the next call.
        unsafe {
            let bytes = mcp_server_output(self.server, &mut len);
            len = len.min(self.piece);
            self.sent.extend_from_slice(std::slice::from_raw_parts(bytes, len));
            mcp_server_wrote(self.server, len);
        }
        len > 0
    }

    pub fn due(&self) -> u64 {
        // SAFETY: it is a server.
        unsafe { mcp_server_due(self.server) }
    }

    pub fn output_len(&self) -> usize {
        let mut len = 0;
        // SAFETY: it is a server.
        unsafe { mcp_server_output(self.server, &mut len) };
        len
    }

    /// Reads some of `bytes`. Returns how many.
    pub fn read(&mut self, bytes: &[u8]) -> usize {
        let mut size = 0;
        // SAFETY: it is a server, whose memory is as large as it says.
        unsafe {
            let into = mcp_server_input(self.server, &mut size);
            let n = size.min(bytes.len()).min(self.piece);
            if n > 0 {
                into.copy_from_nonoverlapping(bytes.as_ptr(), n);
                mcp_server_read(self.server, n);
            }
            n
        }
    }

    /// Makes a call until it is no longer full.
    pub fn send(&mut self, mut call: impl FnMut(*mut mcp_server) -> mcp_status) -> mcp_status {
        loop {
            match call(self.server) {
                mcp_status::MCP_FULL => assert!(self.flush(), "full, but nothing to write"),
                status => return status,
            }
        }
    }

    /// Hands over bytes, and events to the program, until nothing is left to do.
    pub fn feed(&mut self, bytes: &[u8], program: &mut dyn FnMut(&mut Self, mcp_step, &mcp_event)) {
        let mut rest = bytes;
        for round in 0.. {
            assert!(round < 1_000_000, "the server does not come to rest");
            match self.next() {
                (MCP_AGAIN, _) => {}
                (MCP_IO, _) => {
                    let n = self.read(rest);
                    rest = &rest[n..];
                    if !self.flush() && n == 0 {
                        break;
                    }
                }
                (MCP_CLOSED, _) => break,
                (step, event) => program(self, step, &event),
            }
        }
        assert!(rest.is_empty(), "the server reads no more");
    }

    /// Returns the lines that were sent.
    pub fn lines(&mut self) -> Vec<String> {
        let sent = String::from_utf8(std::mem::take(&mut self.sent)).expect("UTF-8");
        sent.lines().map(String::from).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: they come from boxes, and the server ends here.
        unsafe {
            drop(Box::from_raw(self.server));
            drop(Box::from_raw(self.rx));
            drop(Box::from_raw(self.tx));
        }
    }
}

pub const NO_TOOL: mcp_tool = mcp_tool {
    name: null(),
    title: null(),
    description: null(),
    input_schema: null(),
    output_schema: null(),
    hints: 0,
};

pub const fn resource(uri: &'static CStr, name: &'static CStr) -> mcp_resource {
    let (uri, name) = (uri.as_ptr(), name.as_ptr());
    mcp_resource { uri, name, title: null(), description: null(), mime_type: null() }
}

pub const fn template(uri_template: &'static CStr, name: &'static CStr) -> mcp_template {
    let mcp_resource { uri, name, title, description, mime_type } = resource(uri_template, name);
    mcp_template { uri_template: uri, name, title, description, mime_type }
}

pub const fn prompt(name: &'static CStr, arguments: *const c_char) -> mcp_prompt {
    mcp_prompt { name: name.as_ptr(), title: null(), description: null(), arguments }
}

pub const fn config(name: &'static CStr, tools: &'static [mcp_tool]) -> mcp_config {
    mcp_config {
        name: name.as_ptr(),
        version: c"1".as_ptr(),
        title: null(),
        instructions: null(),
        tools: tools.as_ptr(),
        tool_count: tools.len(),
    }
}

/// Returns the text that a function writes into memory of `size` bytes.
pub fn text(
    size: usize,
    call: impl FnOnce(*mut c_char, usize) -> mcp_status,
) -> (mcp_status, String) {
    let mut memory = vec![b'?'; size];
    let out = if size == 0 { null_mut() } else { memory.as_mut_ptr().cast() };
    let status = call(out, size);
    let text = CStr::from_bytes_until_nul(&memory).unwrap_or(c"no text");
    (status, text.to_str().expect("UTF-8").into())
}
