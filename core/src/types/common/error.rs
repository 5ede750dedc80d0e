//! Error objects as received, and the data that the protocol defines for some errors. Errors to
//! send are [`RpcError`](crate::RpcError)s.

use crate::types::macros::payload;
use crate::types::{ClientCapabilities, ElicitParams, Text};

payload! {
    /// JSON-RPC error object: the member `error` of a response. Schema type `Error`.
    pub struct ErrorObject<'a> {
        new {
            /// Error code.
            "code" code: of(i64);
            /// Short description of the error.
            "message" message: text;
        }
        with {
            /// Additional information. `null` is a value.
            "data" data: any;
        }
    }
}

payload! {
    /// Data of the error for an unsupported protocol version (2026-07-28: code -32022). In schema
    /// type `UnsupportedProtocolVersionError`; legacy servers send it, too.
    pub struct UnsupportedProtocolVersionData<'a> {
        new {
            /// Protocol versions that the server supports.
            "supported" supported: list(Text<'a>);
            /// Protocol version of the request.
            "requested" requested: text;
        }
    }
}

payload! {
    /// Data of the error for a request that requires undeclared client capabilities. 2026-07-28, in
    /// schema type `MissingRequiredClientCapabilityError`.
    pub struct MissingRequiredClientCapabilityData<'a> {
        new {
            /// All capabilities that the request requires, those already declared included.
            "requiredCapabilities" required_capabilities: of(ClientCapabilities<'a>);
        }
    }
}

payload! {
    /// Data of the error for a request that requires URL mode elicitations first. 2025-11-25 only,
    /// in schema type `URLElicitationRequiredError`.
    pub struct UrlElicitationRequiredData<'a> {
        new {
            /// Elicitations that the client must complete before it sends the request again.
            "elicitations" elicitations: list(ElicitParams<'a>);
        }
    }
}

payload! {
    /// Data of the error for an unknown resource.
    pub struct ResourceErrorData<'a> {
        new {
            /// URI of the resource.
            "uri" uri: text;
        }
    }
}
