//! What an error says, read from a message or written in the data of one. The errors of this side
//! are [`RpcError`](crate::RpcError)s.

use crate::types::encode::macros::payload;
use crate::types::{ClientCapabilities, ElicitParams, Text};

payload! {
    /// The member `error` of a message. Schema type `Error`.
    pub struct ErrorObject<'a> {
        new {
            /// What kind of error.
            "code" code: of(i64);
            /// One short sentence.
            "message" message: text;
        }
        with {
            /// More about it. `null` is a value.
            "data" data: any;
        }
    }
}

payload! {
    /// Data of an error that says which revisions the server speaks. In schema type `UnsupportedProtocolVersionError`; legacy servers send it, too.
    pub struct UnsupportedProtocolVersionData<'a> {
        new {
            /// The revisions that the server speaks.
            "supported" supported: list(Text<'a>);
            /// What was asked for.
            "requested" requested: text;
        }
    }
}

payload! {
    /// Data of an error that says what a client would have to declare. 2026-07-28, in schema type `MissingRequiredClientCapabilityError`.
    pub struct MissingRequiredClientCapabilityData<'a> {
        new {
            /// Everything that is needed, what was declared included.
            "requiredCapabilities" required_capabilities: of(ClientCapabilities<'a>);
        }
    }
}

payload! {
    /// Data of an error that says which pages the person must see first. 2025-11-25 only, in schema type `URLElicitationRequiredError`.
    pub struct UrlElicitationRequiredData<'a> {
        new {
            /// The pages.
            "elicitations" elicitations: list(ElicitParams<'a>);
        }
    }
}

payload! {
    /// Data of an error about a resource.
    pub struct ResourceErrorData<'a> {
        new {
            /// The resource.
            "uri" uri: text;
        }
    }
}
