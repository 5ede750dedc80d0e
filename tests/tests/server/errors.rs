//! Codes and messages of errors.

use std::fmt;

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    ErrorCode, InvalidPayload, NotAllowed, Outcome as _, RawJson, RequestHandle, ResponseKind,
    Revision, Revisions, RpcError, SendError, Server, ServerConfig, ServerFeatures, ToolError, Tx,
    Violation,
};
use serde_json::{Value, json};

use crate::features::support::{Peer, REVISIONS};

#[test]
fn err_01_each_refusal_has_its_json_rpc_code() {
    for (violation, code) in VIOLATIONS {
        assert_eq!(violation.code().number(Revision::V2025_11_25), code, "{violation:?}");
        let modern = if violation == Violation::UnsupportedVersion { -32022 } else { code };
        assert_eq!(violation.code().number(Revision::LATEST), modern, "{violation:?}");
    }
    let codes = [
        (ErrorCode::ParseError, -32700),
        (ErrorCode::InvalidRequest, -32600),
        (ErrorCode::MethodNotFound, -32601),
        (ErrorCode::InvalidParams, -32602),
        (ErrorCode::InternalError, -32603),
    ];
    for revision in Revisions::ALL.iter() {
        for (code, number) in codes {
            assert_eq!(code.number(revision), number);
        }
    }
}

#[test]
fn rpc_16_each_message_is_one_short_sentence() {
    for (violation, _) in VIOLATIONS {
        let message = violation.message();
        assert_eq!(message, violation.to_string());
        let is_short = (5..=120).contains(&message.len());
        assert!(is_short && !message.contains('\n') && !message.ends_with('.'), "{message}");
        let is_name = message.starts_with("params") || message.starts_with("initialize");
        assert!(is_name || message.starts_with(|c: char| c.is_ascii_uppercase()), "{message}");
    }
}

#[test]
fn err_02_err_03_err_05_err_06_err_07_err_08_no_reserved_code_is_the_applications_under_2026_07_28()
{
    for code in -33_000..=-31_000 {
        let number = ErrorCode::Application(code).number(Revision::LATEST);
        let reserved = (-32_768..=-32_000).contains(&code);
        assert_eq!(number, if reserved { -32603 } else { code });
        for revision in Revisions::LEGACY.iter() {
            assert_eq!(ErrorCode::Application(code).number(revision), code);
        }
    }
}

#[test]
fn err_06_err_07_ver_19_each_code_is_known_only_where_it_is_defined() {
    use ErrorCode as E;
    for (code, numbers) in [
        (E::ResourceNotFound, [-32002, -32002, -32002, -32002, -32602]),
        (E::UrlElicitationRequired, [-32602, -32602, -32602, -32042, -32602]),
        (E::MissingClientCapability, [-32602, -32602, -32602, -32602, -32021]),
        (E::UnsupportedProtocolVersion, [-32602, -32602, -32602, -32602, -32022]),
        (E::HeaderMismatch, [-32602, -32602, -32602, -32602, -32020]),
    ] {
        assert_eq!(REVISIONS.map(|revision| code.number(revision)), numbers, "{code:?}");
    }
}

#[test]
fn err_09_local_errors_have_their_own_type() {
    // These have no JSON-RPC code, so they cannot be confused with a response of the peer. A
    // timeout is an event: see the transcript err-09.
    let errors = [
        SendError::Full,
        SendError::TooLarge,
        SendError::Invalid(InvalidPayload::Serialize),
        SendError::NotAllowed(NotAllowed::NotOpen),
        SendError::TooManyCalls,
    ];
    for error in errors {
        assert!(!error.to_string().is_empty());
    }
}

const VIOLATIONS: [(Violation, i32); 21] = [
    (Violation::NotUtf8, -32700),
    (Violation::NotJson, -32700),
    (Violation::TooDeep, -32600),
    (Violation::TooLong, -32600),
    (Violation::NotAMessage, -32600),
    (Violation::DuplicateKey, -32600),
    (Violation::WrongJsonRpcVersion, -32600),
    (Violation::InvalidId, -32600),
    (Violation::IdTooLong, -32600),
    (Violation::IdInUse, -32600),
    (Violation::BatchNotAllowed, -32600),
    (Violation::EmptyBatch, -32600),
    (Violation::InitializeInBatch, -32600),
    (Violation::AlreadyInitialized, -32600),
    (Violation::NotInitialized, -32602),
    (Violation::UnsupportedVersion, -32602),
    (Violation::InvalidMeta, -32602),
    (Violation::UnknownMethod, -32601),
    (Violation::InvalidParams, -32602),
    (Violation::TooManyRequests, -32603),
    (Violation::UnexpectedResponse, -32600),
];

struct Unwritable;

impl fmt::Display for Unwritable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);

#[test]
fn the_kind_of_a_response_is_what_the_client_reads() {
    let errors = [
        ToolError::failed("failed"),
        ToolError::invalid_arguments("invalid"),
        ToolError::invalid_input_response("invalid"),
        ToolError::internal("internal"),
        ToolError::GONE,
        RpcError::new(ErrorCode::Application(7), "seven").into(),
        RpcError::new(ErrorCode::ResourceNotFound, "none").into(),
        ToolError::from(RpcError::internal("owned")).into_owned(),
    ];
    for revision in REVISIONS {
        let mut peer = Peer::with_config(revision, &CONFIG, json!({}));
        let mut call = |respond: &dyn Fn(&mut Server<'_>, RequestHandle, &mut Tx<'_>)| {
            let (mut id, mut handle) = (None, None);
            let response = peer.call(|server, request, tx| {
                id = server.request_id(request.handle).map(str::to_owned);
                respond(server, request.handle, tx);
                assert_eq!(server.request_id(request.handle), None);
                handle = Some(request.handle);
            });
            assert_eq!(id, Some(response["id"].to_string()));
            let read = match response["error"]["code"].as_i64() {
                Some(code) => ResponseKind::Error(code.try_into().unwrap()),
                None if response["result"]["isError"] == true => ResponseKind::ToolFailed,
                None => ResponseKind::Result,
            };
            assert_eq!(peer.server.response_kind(handle.unwrap()), read);
            read
        };
        for error in &errors {
            let read = call(&|server, request, tx| error.send(server, request, tx).unwrap());
            assert_eq!(error.response_kind(revision), read, "{revision:?} {error:?}");
            let result = RawJson::from_static(r#"{"content":[]}"#);
            let read = call(&|server, request, tx| {
                // Of an error that cannot be written nothing is known to the client.
                let refused = server.respond_invalid_params(request, &Unwritable, tx);
                assert!(matches!(refused, Err(SendError::Invalid(_))));
                server.respond_raw(request, result, tx).unwrap();
            });
            assert_eq!(read, ResponseKind::Result);
        }
    }
}

#[test]
fn an_error_repeats_no_more_than_1024_bytes() {
    let answer = |message: Value| {
        let mut peer = Peer::with_config(Revision::LATEST, &CONFIG, json!({}));
        peer.say(&message, |_, _, _| {}).remove(0)
    };
    for (len, is_repeated) in [(1024, true), (1025, false)] {
        // With its quotes.
        let text = "x".repeat(len - 2);
        let meta = json!({"io.modelcontextprotocol/protocolVersion": text,
            "io.modelcontextprotocol/clientCapabilities": {}});
        let unknown = answer(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
            "params": {"_meta": meta}}));
        assert_eq!(unknown["error"]["data"]["requested"] == text, is_repeated, "{len}");
        let refused = answer(json!({"jsonrpc": "2.0", "id": text, "method": "ping"}));
        assert_eq!(refused["error"]["code"], -32600);
        assert_eq!(refused["id"] == text, is_repeated, "{len}");
    }
}
