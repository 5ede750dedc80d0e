//! The entry that a request is for.

use super::entry::{Entry, Kind};
use super::{Catalog, Target};
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Method;
use crate::rpc::RpcError;
use crate::server::Request;
use crate::types::Text;
use crate::uri_template;

/// The look-ups of lists that are set, so that a program links no others.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookUps {
    prompt: LookUp,
    resource: LookUp,
    completion: LookUp,
}

/// Of the parameters of a request.
type LookUp = for<'c, 'f> fn(&Catalog<'c>, RawJson<'f>) -> Result<Target<'c>, RpcError<'f>>;

impl LookUps {
    pub(super) const NONE: Self = Self {
        prompt: |_, _| Err(UNKNOWN_PROMPT),
        resource: |_, params| Err(unknown_resource(string(params, "uri"))),
        completion: |_, _| Err(RpcError::invalid_params("Unknown reference")),
    };

    /// The look-ups of lists that can change.
    #[cfg(feature = "alloc")]
    pub(super) const ALL: Self = Self {
        prompt: |catalog, params| {
            // A typed prompt with valid arguments has all that are required.
            #[cfg(feature = "derive")]
            if let target @ Target::InvalidArguments(_) = typed_prompt(catalog, params)? {
                return Ok(target);
            }
            prompt(catalog, params)
        },
        resource,
        completion,
    };

    pub(super) const fn of_prompts(self) -> Self {
        Self { prompt, completion, ..self }
    }

    #[cfg(feature = "derive")]
    pub(super) const fn of_typed_prompts(self) -> Self {
        Self { prompt: typed_prompt, completion, ..self }
    }

    pub(super) const fn of_resources(self) -> Self {
        Self { resource, ..self }
    }

    pub(super) const fn of_templates(self) -> Self {
        Self { resource, completion, ..self }
    }
}

impl<'c> Catalog<'c> {
    /// Returns the entry that a request is for, or the error to respond with.
    ///
    /// # Errors
    /// The tool, prompt, argument or resource is unknown.
    pub fn target<'f>(&self, request: &Request<'f>) -> Result<Target<'c>, RpcError<'f>> {
        let look_up = match request.method {
            Method::ToolsCall => return tool(self, request),
            Method::PromptsGet => self.look_ups.prompt,
            Method::ResourcesRead => self.look_ups.resource,
            Method::CompletionComplete => self.look_ups.completion,
            _ => return Ok(Target::Other),
        };
        look_up(self, request.params.raw())
    }
}

fn tool<'c, 'f>(catalog: &Catalog<'c>, request: &Request<'f>) -> Result<Target<'c>, RpcError<'f>> {
    let tool = request
        .name()
        .and_then(|name| catalog.all_tools().iter().find(|tool| tool.key() == name))
        .ok_or(RpcError::invalid_params("Unknown tool"))?;
    #[cfg(feature = "http")]
    request.check_param_headers(tool.input_schema())?;
    let mut is_valid = true;
    catalog.refusal(tool, request, &mut |_| is_valid = false);
    Ok(if is_valid { Target::Tool(tool) } else { Target::InvalidArguments(tool) })
}

fn prompt<'c, 'f>(catalog: &Catalog<'c>, params: RawJson<'f>) -> Result<Target<'c>, RpcError<'f>> {
    let prompt = find(catalog.prompts, string(params, "name")).ok_or(UNKNOWN_PROMPT)?;
    let arguments = params.get("arguments").unwrap_or(RawJson::EMPTY);
    let missing = any_argument(prompt, &|name, required| {
        required && !arguments.members().any(|(given, _)| name == given)
    });
    if missing {
        Err(RpcError::invalid_params("A required argument is missing"))
    } else {
        Ok(Target::Prompt(prompt))
    }
}

#[cfg(feature = "derive")]
fn typed_prompt<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    let prompt = find(catalog.prompts, string(params, "name")).ok_or(UNKNOWN_PROMPT)?;
    let arguments = params.get("arguments").unwrap_or(RawJson::EMPTY);
    Ok(match catalog.typed_prompts {
        Some(typed) if !(typed.is_valid)(prompt, arguments) => Target::InvalidArguments(prompt),
        _ => Target::Prompt(prompt),
    })
}

fn resource<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    let uri = string(params, "uri");
    if let Some(resource) = find(catalog.resources, uri) {
        return Ok(Target::Resource(resource));
    }
    let matches = |template: &&Entry<'_>| {
        let pattern = template.key().as_plain();
        pattern.zip(uri).is_some_and(|(pattern, uri)| uri_template::matches(pattern, uri))
    };
    let template = catalog.templates.iter().find(matches);
    template.map(Target::Template).ok_or_else(|| unknown_resource(uri))
}

fn completion<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    let reference = params.get("ref").unwrap_or(RawJson::EMPTY);
    let argument = params.get("argument").and_then(|argument| string(argument, "name"));
    let (target, known) = if string(reference, "type").is_some_and(|kind| kind == "ref/prompt") {
        let prompt = find(catalog.prompts, string(reference, "name")).ok_or(UNKNOWN_PROMPT)?;
        let known = any_argument(prompt, &|known, _| argument.is_some_and(|name| known == name));
        (Target::CompletePrompt(prompt), known)
    } else {
        let template = find(catalog.templates, string(reference, "uri"))
            .ok_or(RpcError::invalid_params("Unknown resource template"))?;
        let pattern = template.key().as_plain().unwrap_or_default();
        (
            Target::CompleteTemplate(template),
            argument.is_some_and(|name| uri_template::has_variable(pattern, name)),
        )
    };
    if known { Ok(target) } else { Err(RpcError::invalid_params("Unknown argument")) }
}

const UNKNOWN_PROMPT: RpcError<'static> = RpcError::invalid_params("Unknown prompt");

fn unknown_resource(uri: Option<JsonStr<'_>>) -> RpcError<'_> {
    match uri {
        Some(uri) => RpcError::resource_not_found(uri),
        None => RpcError::invalid_params("params.uri must be a string"),
    }
}

fn string<'f>(object: RawJson<'f>, key: &str) -> Option<JsonStr<'f>> {
    object.get(key).and_then(RawJson::as_string)
}

fn find<'c>(entries: &'c [Entry<'c>], key: Option<JsonStr<'_>>) -> Option<&'c Entry<'c>> {
    let key = key?;
    entries.iter().find(|entry| entry.key() == key)
}

/// Whether `is` returns true for the name and the required flag of any argument. Received JSON is
/// not read as a type: its deserializer would be linked.
fn any_argument(prompt: &Entry<'_>, is: &dyn Fn(Text<'_>, bool) -> bool) -> bool {
    let Kind::Prompt(Some(arguments)) = prompt.kind() else { return false };
    arguments
        .as_slice()
        .unwrap_or_default()
        .iter()
        .any(|argument| is(argument.name, argument.required == Some(true)))
        || arguments.as_json().unwrap_or(RawJson::NULL).elements().any(|argument| {
            let name = argument.get("name").and_then(RawJson::as_string).map(Text::from_json);
            name.is_some_and(|name| {
                is(name, argument.get("required").and_then(RawJson::as_bool) == Some(true))
            })
        })
}
