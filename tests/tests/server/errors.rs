//! Codes and messages of errors.

use mcp_sansio::{ErrorCode, InvalidPayload, NotAllowed, Revision, SendError, Violation};

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
    for revision in Revision::ALL {
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
        assert!(
            (5..=120).contains(&message.len())
                && !message.contains('\n')
                && !message.ends_with('.'),
            "{message}"
        );
        assert!(
            message.starts_with(|c: char| c.is_ascii_uppercase())
                || message.starts_with("params")
                || message.starts_with("initialize"),
            "{message}"
        );
    }
}

#[test]
fn err_02_err_03_err_05_err_06_err_07_err_08_no_reserved_code_is_the_applications_under_2026_07_28()
{
    for code in -33_000..=-31_000 {
        let number = ErrorCode::Application(code).number(Revision::LATEST);
        let reserved = (-32_768..=-32_000).contains(&code);
        assert_eq!(number, if reserved { -32603 } else { code });
        for revision in &Revision::ALL[1..] {
            assert_eq!(ErrorCode::Application(code).number(*revision), code);
        }
    }
}

#[test]
fn err_06_err_07_ver_19_each_code_is_known_only_where_it_is_defined() {
    use ErrorCode as E;
    for revision in Revision::ALL {
        let modern = revision.is_modern();
        assert_eq!(E::ResourceNotFound.number(revision), if modern { -32602 } else { -32002 });
        assert_eq!(
            E::UrlElicitationRequired.number(revision),
            if revision == Revision::V2025_11_25 { -32042 } else { -32602 }
        );
        assert_eq!(
            E::MissingClientCapability.number(revision),
            if modern { -32021 } else { -32602 }
        );
        assert_eq!(
            E::UnsupportedProtocolVersion.number(revision),
            if modern { -32022 } else { -32602 }
        );
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
