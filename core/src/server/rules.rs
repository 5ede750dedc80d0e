//! The types of parameters, as rules that one loop checks, and refusals of what breaks them.

use super::event::ServerEvent;
use super::{CapabilityHooks, ServerConfig};
use crate::buffers::tx::{Tx, WriterId};
use crate::encode::{Addition, Additions, Encode, Encoder};
use crate::json::RawJson;
use crate::message::Id;
use crate::protocol::error::{ErrorCode, SendResult, TERSE, Violation};
use crate::protocol::{Method, Revision};
use crate::rpc::{MAX_ECHOED, RpcError, write_error, write_response_head};
use crate::text::{Words, words};
use crate::types::LoggingLevel;
use crate::types::meta::SERVER_INFO;
use crate::uri_template::is_uri;

/// The rule for a member of an object.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(super) struct Rule {
    key: &'static str,
    /// A function pointer, so that a type is linked only with the rules that use it.
    is_valid: fn(RawJson<'_>) -> bool,
    refusal: Refusal,
    required: bool,
}

impl Rule {
    const fn required(
        key: &'static str,
        is_valid: fn(RawJson<'_>) -> bool,
        refusal: Refusal,
    ) -> Self {
        Self { key, is_valid, refusal, required: true }
    }

    const fn optional(
        key: &'static str,
        is_valid: fn(RawJson<'_>) -> bool,
        refusal: Refusal,
    ) -> Self {
        Self { required: false, ..Self::required(key, is_valid, refusal) }
    }
}

/// Returns the rules for the parameters of a method.
pub(super) fn rules(method: Method<'_>, hooks: &CapabilityHooks) -> &'static [Rule] {
    match method {
        Method::Initialize => &INITIALIZE,
        Method::ToolsCall => &TOOL,
        Method::ToolsList
        | Method::ResourcesList
        | Method::ResourcesTemplatesList
        | Method::PromptsList => &LIST,
        Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            hooks.resource_rules
        }
        Method::PromptsGet => &PROMPT,
        Method::CompletionComplete => hooks.completion_rules,
        Method::LoggingSetLevel => &LEVEL,
        Method::SubscriptionsListen => &LISTEN,
        #[cfg(feature = "skills")]
        Method::SkillsList => &LIST,
        #[cfg(feature = "skills")]
        Method::SkillsGet => hooks.resource_rules,
        #[cfg(feature = "skills")]
        Method::ResourcesDirectoryRead => &DIRECTORY,
        _ => &[],
    }
}

/// Checks the members of an object in the order of the rules; returns the first refusal.
pub(super) fn check<'f>(
    get: &dyn Fn(&str) -> Option<RawJson<'f>>,
    rules: &[Rule],
) -> Result<(), Refusal> {
    for rule in rules {
        let is_valid = get(rule.key).map_or(!rule.required, rule.is_valid);
        if !is_valid {
            return Err(rule.refusal);
        }
    }
    Ok(())
}

const INITIALIZE: [Rule; 3] = [
    Rule::required("protocolVersion", is_version, Refusal::INITIALIZE),
    Rule::required("capabilities", is_object, Refusal::INITIALIZE),
    Rule::required("clientInfo", is_implementation, Refusal::INITIALIZE),
];
const TOOL: [Rule; 2] = [
    Rule::required("name", is_string, Refusal::NAME),
    Rule::optional("arguments", is_object, Refusal::ARGUMENTS),
];
const LIST: [Rule; 1] = [Rule::optional("cursor", is_string, Refusal::CURSOR)];
const PROMPT: [Rule; 2] = [
    Rule::required("name", is_string, Refusal::NAME),
    Rule::optional("arguments", is_string_map, Refusal::STRING_ARGUMENTS),
];
pub(super) const RESOURCE: [Rule; 1] = [Rule::required("uri", is_uri_string, Refusal::URI)];
#[cfg(feature = "skills")]
const DIRECTORY: [Rule; 2] = [RESOURCE[0], LIST[0]];
pub(super) const COMPLETION: [Rule; 2] = [
    Rule::required("ref", is_reference, Refusal::REFERENCE),
    Rule::required("argument", is_completion_argument, Refusal::ARGUMENT),
];
const LEVEL: [Rule; 1] = [Rule::required("level", is_log_level, Refusal::LOG_LEVEL)];
const LISTEN: [Rule; 1] = [Rule::required("notifications", is_object, Refusal::NOTIFICATIONS)];
/// The members of `params.notifications` of `subscriptions/listen`.
pub(super) const FILTER: [Rule; 4] = [
    Rule::optional("toolsListChanged", is_bool, Refusal::LIST_CHANGED),
    Rule::optional("promptsListChanged", is_bool, Refusal::LIST_CHANGED),
    Rule::optional("resourcesListChanged", is_bool, Refusal::LIST_CHANGED),
    Rule::optional("resourceSubscriptions", is_string_list, Refusal::SUBSCRIPTIONS),
];
/// The parameters with which a client sends a request again (2026-07-28, basic/patterns/mrtr).
pub(super) const INPUT: [Rule; 2] = [
    Rule::optional("inputResponses", is_object_map, Refusal::INPUT),
    Rule::optional("requestState", is_string, Refusal::INPUT),
];

/// Whether it can be a protocol version; an error response repeats it.
pub(super) fn is_version(value: RawJson<'_>) -> bool {
    is_string(value) && value.as_str().len() <= MAX_ECHOED
}

fn is_implementation(value: RawJson<'_>) -> bool {
    has_string(value, "name") && has_string(value, "version")
}

fn is_uri_string(value: RawJson<'_>) -> bool {
    value.as_string().is_some_and(is_uri)
}

fn is_log_level(value: RawJson<'_>) -> bool {
    value.as_string().and_then(LoggingLevel::from_json).is_some()
}

fn is_reference(value: RawJson<'_>) -> bool {
    let kind = value.get("type").and_then(RawJson::as_string);
    kind.is_some_and(|kind| {
        (kind == "ref/prompt" && has_string(value, "name"))
            || (kind == "ref/resource" && has_string(value, "uri"))
    })
}

fn is_completion_argument(value: RawJson<'_>) -> bool {
    has_string(value, "name") && has_string(value, "value")
}

fn has_string(value: RawJson<'_>, key: &str) -> bool {
    value.get(key).is_some_and(is_string)
}

fn is_string(value: RawJson<'_>) -> bool {
    value.as_string().is_some()
}

fn is_object(value: RawJson<'_>) -> bool {
    value.is_object()
}

fn is_bool(value: RawJson<'_>) -> bool {
    value.as_bool().is_some()
}

fn is_string_list(value: RawJson<'_>) -> bool {
    value.is_array() && value.elements().all(is_string)
}

fn is_string_map(value: RawJson<'_>) -> bool {
    value.is_object() && value.members().all(|(_, value)| is_string(value))
}

fn is_object_map(value: RawJson<'_>) -> bool {
    value.is_object() && value.members().all(|(_, value)| value.is_object())
}

// Responses that need no entry in a table: errors for invalid messages, empty results; and the
// members that a modern revision adds to each result.

/// The reason why the server rejects a message itself: a violation, and the detail of it. Two bytes
/// until it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    violation: Violation,
    detail: Detail,
}

/// Generates the refusals with words of their own from one row each: `NAME => violation, words`.
macro_rules! details {
    ($($name:ident => $violation:ident, $words:literal;)*
     ; over http: $($http:ident => $mismatch:ident, $http_words:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Detail {
            $($name,)*
            $(#[cfg(feature = "http")] $http,)*
            /// The violation says all.
            None,
        }

        impl Refusal {
            $(pub(super) const $name: Self =
                Self { violation: Violation::$violation, detail: Detail::$name };)*
            $(#[cfg(feature = "http")]
            pub(super) const $http: Self =
                Self { violation: Violation::$mismatch, detail: Detail::$http };)*
        }

        /// In the order of the variants.
        #[cfg(not(feature = "http"))]
        const DETAILS: Words = words![$($words),*];
        #[cfg(feature = "http")]
        const DETAILS: Words = words![$($words,)* $($http_words),*];
    };
}

details! {
    INITIALIZE_FIRST => NotInitialized, "Not initialized: send initialize first";
    NO_INITIALIZE => UnsupportedVersion,
        "initialize is not supported: send each request with version 2026-07-28 in params._meta";
    INITIALIZE => InvalidParams,
        "initialize needs protocolVersion, capabilities and clientInfo with name and version";
    TOKEN => InvalidParams, "The progress token must be a string or an integer";
    LOG_LEVEL => InvalidParams, "Unknown log level";
    NAME => InvalidParams, "params.name must be a string";
    ARGUMENTS => InvalidParams, "params.arguments must be an object";
    STRING_ARGUMENTS => InvalidParams, "params.arguments must be an object of strings";
    CURSOR => InvalidParams, "params.cursor must be a string";
    URI => InvalidParams, "params.uri must be a URI";
    REFERENCE => InvalidParams,
        "params.ref must be a ref/prompt with a name or a ref/resource with a uri";
    ARGUMENT => InvalidParams, "params.argument must have the strings name and value";
    NOTIFICATIONS => InvalidParams, "params.notifications must be an object";
    LIST_CHANGED => InvalidParams, "listChanged members of params.notifications must be booleans";
    SUBSCRIPTIONS => InvalidParams,
        "params.notifications.resourceSubscriptions must be an array of strings";
    INPUT => InvalidParams,
        "params.inputResponses must be an object of objects and params.requestState a string";
    ;
    over http:
    VERSION_HEADER_MISSING => HeaderMismatch,
        "MCP-Protocol-Version is missing: send the version in params._meta, for example 2026-07-28";
    VERSION_HEADER_INVALID => HeaderMismatch, "MCP-Protocol-Version is invalid or repeated";
    VERSION_HEADER => HeaderMismatch,
        "MCP-Protocol-Version differs from the version in params._meta";
    METHOD_HEADER_MISSING => HeaderMismatch,
        "Mcp-Method is missing: send the method of the message";
    METHOD_HEADER => HeaderMismatch, "Mcp-Method differs from the method of the message";
    NAME_HEADER_MISSING => HeaderMismatch,
        "Mcp-Name is missing: send params.name, params.uri or params.taskId";
    NAME_HEADER => HeaderMismatch, "Mcp-Name differs from params.name, params.uri or params.taskId";
}

impl Refusal {
    /// Returns the words of the error response.
    pub(super) fn words(self) -> &'static str {
        DETAILS.get(self.detail as usize).unwrap_or(self.violation.message())
    }

    /// Returns the id for the error: `None` if the id is in use, because the error would end the
    /// request that uses it.
    pub(super) fn id<'f>(self, id: Id<'f>) -> Option<Id<'f>> {
        (self.violation != Violation::IdInUse).then_some(id)
    }

    /// Returns the error; that of an unsupported version repeats the requested one.
    fn error<'e>(self, config: &ServerConfig<'_>, requested: Option<RawJson<'e>>) -> RpcError<'e> {
        let message = config.words.map_or(TERSE, |words| words(self));
        match requested {
            Some(version) if self.violation == Violation::UnsupportedVersion => {
                RpcError::unsupported_version(config.revisions, version).message(message)
            }
            _ if self == Self::INITIALIZE_FIRST => {
                RpcError::new(ErrorCode::InvalidRequest, message)
            }
            _ => RpcError::new(self.violation.code(), message),
        }
    }
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        Self { violation, detail: Detail::None }
    }
}

/// Writes an error, and returns the violation as an event. `requested` is the version that the
/// message asks for.
pub(super) fn refuse<'f>(
    config: &ServerConfig<'_>,
    id: Option<Id<'_>>,
    revision: Revision,
    refusal: Refusal,
    requested: Option<RawJson<'_>>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<ServerEvent<'f>>> {
    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
        #[cfg(feature = "http")]
        writer.set_status(refusal.violation.http_status(revision));
        write_error(writer, id.map(Id::as_str), &refusal.error(config, requested))
    })?;
    Ok(Some(ServerEvent::Violation(refusal.violation.into())))
}

/// Writes the result `{}`.
pub(super) fn respond_empty(id: Id<'_>, revision: Revision, tx: &mut Tx<'_>) -> SendResult {
    tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
        write_response_head(writer, id.as_str().as_bytes(), b",\"result\":{}}")
    })
}

/// Writes a result, with the members that its revision adds.
#[cfg_attr(not(small), inline)]
pub(super) fn write_result<P: Encode + ?Sized>(
    config: &ServerConfig<'_>,
    writer: &mut Encoder<'_>,
    result_type: &str,
    result: &P,
) {
    if !writer.revision().is_modern() {
        return writer.any_object(result);
    }
    let addition = |name, value| Addition { name, value, is_reserved: false };
    let meta = [addition(SERVER_INFO, &config.info)];
    writer.completed(
        result,
        &Additions {
            members: &[addition("resultType", &result_type)],
            meta: if config.send_server_info { &meta } else { &[] },
            #[cfg(not(small))]
            rendered: match result_type {
                "complete" if config.send_server_info => config.info.tail(),
                _ => &[],
            },
        },
    );
}
