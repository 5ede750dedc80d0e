//! Responses for skills: lists and single entries, files, directories.

use super::Catalog;
use crate::buffers::tx::Tx;
use crate::encode::{Encode, Encoder};
use crate::json::JsonStr;
use crate::protocol::Method;
use crate::protocol::error::SendResult;
use crate::rpc::RpcError;
use crate::server::{Request, Server};
use crate::skills::ServedSkill;
use crate::types::{
    DIRECTORY, GetSkillResult, ReadResourceResult, Resource, ResourceContents, ResourceData,
    SkillResource, Text,
};

/// The skills of a catalog. The functions are pointers, so that programs without skills, or without
/// dynamic ones, do not link them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skills<'c> {
    pub(super) list: &'c [ServedSkill<'c>],
    pub(super) respond: Option<Respond>,
    /// Set if a skill is dynamic.
    pub(super) is_left: Option<IsLeft>,
}

/// Responds to a request for a skill; `None` for any other, and for lists.
type Respond = fn(&Catalog<'_>, &mut Server<'_>, &Request<'_>, &mut Tx<'_>) -> Option<SendResult>;

/// Whether a request is for a file that a skill leaves to the application.
type IsLeft = fn(&Catalog<'_>, &Request<'_>) -> bool;

impl<'c> Skills<'c> {
    pub(super) const NONE: Self = Self { list: &[], respond: None, is_left: None };

    pub(super) const fn new(list: &'c [ServedSkill<'c>]) -> Self {
        let (mut at, mut left) = (0, None);
        while at < list.len() {
            if list[at].is_dynamic() {
                left = Some(is_left as IsLeft);
            }
            at += 1;
        }
        Self { list, respond: Some(respond), is_left: left }
    }

    /// Whether the catalog knows all files.
    pub(super) const fn has_all_files(&self) -> bool {
        self.is_left.is_none()
    }
}

fn is_left(catalog: &Catalog<'_>, request: &Request<'_>) -> bool {
    let uri = request.uri().map(Text::from_json);
    request.method == Method::ResourcesRead
        && uri.is_some_and(|uri| catalog.skills.list.iter().any(|skill| skill.leaves(uri)))
}

fn respond(
    catalog: &Catalog<'_>,
    server: &mut Server<'_>,
    request: &Request<'_>,
    tx: &mut Tx<'_>,
) -> Option<SendResult> {
    let skills = catalog.skills.list;
    let mut send = |result: &dyn Encode| {
        Some(server.respond_with::<dyn Encode>(request.handle, "complete", result, tx))
    };
    // The URI has been checked.
    let uri = request.uri()?;
    let error = match request.method {
        Method::SkillsGet => {
            if let Some(skill) = skills.iter().find(|skill| skill.skill().uri == uri) {
                return send(&GetSkillResult {
                    ttl_ms: Some(catalog.ttl_ms),
                    cache_scope: Some(catalog.scope),
                    ..GetSkillResult::new(skill.skill())
                });
            }
            "No skill has this URI"
        }
        Method::ResourcesRead => {
            let (file, data) = find(skills, Text::from_json(uri))?;
            let contents = [ResourceContents {
                mime_type: Some(Text::new(mime_type(&file, data))),
                ..ResourceContents::new(file.uri, data)
            }];
            return send(&ReadResourceResult {
                ttl_ms: Some(catalog.ttl_ms),
                cache_scope: Some(catalog.scope),
                ..ReadResourceResult::new(&contents)
            });
        }
        Method::ResourcesDirectoryRead => match Directory::find(skills, uri) {
            // This response is the only page.
            Some(_) if request.cursor().is_some() => "Invalid cursor",
            Some(directory) => return send(&directory),
            None if catalog.skills.has_all_files() => "No directory has this URI",
            None => return None,
        },
        _ => return None,
    };
    let error = RpcError::invalid_params(error);
    Some(server.respond_error(request.handle, &error, tx).map(|_| ()))
}

fn find<'c>(
    skills: &'c [ServedSkill<'c>],
    uri: Text<'_>,
) -> Option<(SkillResource<'c>, ResourceData<'c>)> {
    skills.iter().flat_map(ServedSkill::files).find(|(file, _)| file.uri == uri)
}

/// Returns the resource of a `SKILL.md`.
pub(super) fn skill_md<'c>(served: &'c ServedSkill<'c>) -> Resource<'c> {
    let skill = served.skill();
    let size = find(core::slice::from_ref(served), skill.uri).map(|(file, _)| file.size);
    Resource {
        uri: skill.uri,
        name: skill.name().unwrap_or_default(),
        description: skill.description(),
        mime_type: Some(Text::new(MARKDOWN)),
        size,
        ..Resource::new("", "")
    }
}

/// A directory of a skill, as the result of `resources/directory/read`.
struct Directory<'c> {
    skill: &'c ServedSkill<'c>,
    uri: &'c str,
}

impl<'c> Directory<'c> {
    fn find(skills: &'c [ServedSkill<'c>], uri: JsonStr<'_>) -> Option<Self> {
        // A nested skill has its files in common with the skill around it, which has more of them.
        let of = |skill: &'c ServedSkill<'c>| {
            let root = skill.root()?;
            let mut paths = skill.files().filter_map(|(file, _)| file.uri.as_plain());
            let uri = paths.find_map(|path| {
                let mut directories = slashes(path).filter_map(|end| path.get(..end));
                directories.find(|path| path.len() >= root.len() && uri == **path)
            })?;
            Some((root.len(), Self { skill, uri }))
        };
        skills.iter().filter_map(of).min_by_key(|(len, _)| *len).map(|(_, directory)| directory)
    }

    /// Returns what is directly in the directory.
    fn children(&self) -> impl Iterator<Item = Resource<'c>> {
        let Self { skill, uri } = *self;
        let path = move |file: &SkillResource<'c>| {
            let path = file.uri.as_plain()?;
            let start = path.strip_prefix(uri)?.strip_prefix("/").map(|_| uri.len() + 1)?;
            let below = slashes(path).find(|end| *end >= start);
            let end = below.unwrap_or(path.len());
            Some((path.get(..end)?, path.get(start..end)?, below.is_some()))
        };
        skill.files().enumerate().filter_map(move |(at, (file, data))| {
            let (path_of, name, is_directory) = path(&file)?;
            let mut before = skill.files().take(at).filter_map(|(file, _)| path(&file));
            if is_directory && before.any(|(other, ..)| other == path_of) {
                return None;
            }
            let mime_type = if is_directory { DIRECTORY } else { mime_type(&file, data) };
            Some(Resource {
                mime_type: Some(Text::new(mime_type)),
                size: (!is_directory).then_some(file.size),
                ..Resource::new(path_of, name)
            })
        })
    }
}

impl Encode for Directory<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        if to.key("resources") {
            to.array(self.children());
        }
        to.end_object();
    }
}

/// Returns where the slashes are. The search for a character in a text could panic, as far as the
/// compiler knows.
fn slashes(path: &str) -> impl Iterator<Item = usize> {
    path.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(at, _)| at)
}

/// Returns the MIME type of a file by its ending.
fn mime_type(file: &SkillResource<'_>, data: ResourceData<'_>) -> &'static str {
    let uri = file.uri.as_plain().unwrap_or_default();
    let known = TYPES.iter().find(|(ending, _)| uri.ends_with(ending));
    match data {
        _ if known.is_some() => known.map_or("", |(_, mime_type)| mime_type),
        ResourceData::Text(_) => "text/plain",
        ResourceData::Blob(_) => "application/octet-stream",
    }
}

const MARKDOWN: &str = "text/markdown";
const TYPES: [(&str, &str); 8] = [
    (".md", MARKDOWN),
    (".json", "application/json"),
    (".html", "text/html"),
    (".csv", "text/csv"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".pdf", "application/pdf"),
];
