//! Checks of the parameters of requests.

use crate::json::RawJson;
use crate::message::Params;
use crate::uri_template::is_uri;

/// Checks the parameters of the methods of the capability `resources`.
pub(super) fn check_resources(params: &Params<'_>) -> Result<(), &'static str> {
    let is_uri = params.get("uri").and_then(RawJson::as_string).is_some_and(is_uri);
    if is_uri { Ok(()) } else { Err("params.uri must be a URI") }
}

/// Checks the parameters of `prompts/get`.
pub(super) fn check_prompts(params: &Params<'_>) -> Result<(), &'static str> {
    if params.name().is_none() {
        return Err(NAME);
    }
    if is_string_map(params.arguments().raw()) {
        Ok(())
    } else {
        Err("params.arguments must be an object of strings")
    }
}

/// Checks the parameters of `completion/complete`.
pub(super) fn check_completion(params: &Params<'_>) -> Result<(), &'static str> {
    let reference = params.get("ref").is_some_and(|r| {
        let kind = r.get("type").and_then(RawJson::as_string);
        let named = |key| r.get(key).is_some_and(|value| value.as_string().is_some());
        kind.is_some_and(|kind| {
            (kind == "ref/prompt" && named("name")) || (kind == "ref/resource" && named("uri"))
        })
    });
    let argument = params.get("argument").is_some_and(is_string_map)
        && params
            .get("argument")
            .is_some_and(|a| a.get("name").is_some() && a.get("value").is_some());
    match (reference, argument) {
        (false, _) => {
            Err("params.ref must be a ref/prompt with a name or a ref/resource with a uri")
        }
        (_, false) => Err("params.argument must have the strings name and value"),
        _ => Ok(()),
    }
}

pub(super) const NAME: &str = "params.name must be a string";

pub(super) fn is_string_if_there(value: Option<RawJson<'_>>) -> bool {
    value.is_none_or(|value| value.as_string().is_some())
}

fn is_string_map(value: RawJson<'_>) -> bool {
    value.is_object() && value.members().all(|(_, value)| value.as_string().is_some())
}
