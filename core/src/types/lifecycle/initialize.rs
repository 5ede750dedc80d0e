//! `initialize`, up to 2025-11-25.

use crate::types::macros::payload;
use crate::types::{ClientCapabilities, Implementation, ServerCapabilities};

payload! {
    /// Parameters of `initialize`. Up to 2025-11-25, schema type `InitializeRequestParams`.
    pub struct InitializeParams<'a> {
        new {
            /// Protocol version that the client proposes: the latest that it supports.
            "protocolVersion" protocol_version: version;
            /// Capabilities of the client.
            "capabilities" capabilities: of(ClientCapabilities<'a>);
            /// Name and version of the client.
            "clientInfo" client_info: of(Implementation<'a>);
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

payload! {
    /// Result of `initialize`. Up to 2025-11-25, schema type `InitializeResult`.
    pub struct InitializeResult<'a> {
        new {
            /// Protocol version of the session.
            "protocolVersion" protocol_version: version;
            /// Capabilities of the server.
            "capabilities" capabilities: of(ServerCapabilities<'a>);
            /// Name and version of the server.
            "serverInfo" server_info: of(Implementation<'a>);
        }
        with {
            /// Instructions for the model on how to use the server.
            "instructions" instructions: text;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}
