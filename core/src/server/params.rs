//! The types of parameters, as rules that one loop checks.

use super::capability_hooks::CapabilityHooks;
use super::refusal::Refusal;
use crate::json::RawJson;
use crate::lifecycle::Method;
use crate::rpc::MAX_ECHOED;
use crate::types::LoggingLevel;
use crate::uri_template::is_uri;

/// The rule for a member of an object.
#[derive(Clone, Copy, Debug)]
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
#[cfg_attr(small, inline(never))]
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
    let has_string = |key| value.get(key).is_some_and(is_string);
    has_string("name") && has_string("version")
}

fn is_uri_string(value: RawJson<'_>) -> bool {
    value.as_string().is_some_and(is_uri)
}

pub(super) fn is_log_level(value: RawJson<'_>) -> bool {
    value.as_string().and_then(LoggingLevel::from_json).is_some()
}

fn is_reference(value: RawJson<'_>) -> bool {
    let has_string = |key| value.get(key).is_some_and(is_string);
    let kind = value.get("type").and_then(RawJson::as_string);
    kind.is_some_and(|kind| {
        (kind == "ref/prompt" && has_string("name"))
            || (kind == "ref/resource" && has_string("uri"))
    })
}

fn is_completion_argument(value: RawJson<'_>) -> bool {
    is_string_map(value) && value.get("name").is_some() && value.get("value").is_some()
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
