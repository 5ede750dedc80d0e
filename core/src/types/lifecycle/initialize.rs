//! `initialize`, up to 2025-11-25.

use crate::types::encode::macros::payload;
use crate::types::{ClientCapabilities, Implementation, ServerCapabilities};

payload! {
    /// What `initialize` says. Up to 2025-11-25, schema type `InitializeRequestParams`.
    pub struct InitializeParams<'a> {
        new {
            /// The newest revision that the client speaks.
            "protocolVersion" protocol_version: version;
            /// What the client can do.
            "capabilities" capabilities: of(ClientCapabilities<'a>);
            /// Who the client is.
            "clientInfo" client_info: of(Implementation<'a>);
        }
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// The answer to `initialize`. Up to 2025-11-25, schema type `InitializeResult`.
    pub struct InitializeResult<'a> {
        new {
            /// The revision that the session will speak.
            "protocolVersion" protocol_version: version;
            /// What the server can do.
            "capabilities" capabilities: of(ServerCapabilities<'a>);
            /// Who the server is.
            "serverInfo" server_info: of(Implementation<'a>);
        }
        with {
            /// How a model should use the server.
            "instructions" instructions: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
