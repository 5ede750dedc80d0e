//! Skills: directories of instructions and files for an agent. Extension
//! `io.modelcontextprotocol/skills` (SEP-2640), feature `skills`.

use super::macros::{page, payload, wrong};
use super::{CacheScope, List, Resource};
use crate::encode::{Encode, Encoder};
use crate::json::{JsonStr, RawJson};
use serde::{Deserialize, Deserializer};

payload! {
    /// The entry of a skill: what a client needs to show it, to have it approved, and to verify
    /// each file of it. Type `Skill` of the extension.
    ///
    /// [`check`](Self::check) and [`verify`](Self::verify) are the rules that a client has to apply
    /// before it uses a received one.
    pub struct Skill<'a> {
        /// URI of its `SKILL.md`. Only together with the server is it an identity: two servers
        /// may have skills with the same URI.
        "uri" uri: text;
        /// The frontmatter of its `SKILL.md` as JSON, with all members that the author wrote;
        /// `name` and `description` are always among them.
        "frontmatter" frontmatter: object;
        /// All its files.
        "resources" resources: of(SkillResources<'a>);
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

/// The files of a [`Skill`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SkillResources<'a> {
    /// All of them, `SKILL.md` included.
    Files(List<'a, SkillResource<'a>>),
    /// The content is generated, so that nothing about it can be promised. Hosts may decline such
    /// skills.
    Dynamic,
}

impl Encode for SkillResources<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Files(files) => files.encode(to),
            Self::Dynamic => to.string(DYNAMIC),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SkillResources<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match List::from_json(raw) {
            Some(files) => Ok(Self::Files(files)),
            None if raw.as_string().is_some_and(|text: JsonStr<'_>| text == DYNAMIC) => {
                Ok(Self::Dynamic)
            }
            None => Err(wrong(&"an array, or \"dynamic\"")),
        }
    }
}

const DYNAMIC: &str = "dynamic";

payload! {
    /// A file of a skill. Type `SkillResource` of the extension.
    pub struct SkillResource<'a> {
        /// URI of the file.
        "uri" uri: text;
        /// SHA-256 of its bytes: `sha256:` and 64 lower-case hexadecimal digits.
        "digest" digest: text;
        /// The number of its bytes.
        "size" size: of(u64);
    }
}

page! {
    /// Result of `skills/list`. Type `ListSkillsResult` of the extension.
    pub struct ListSkillsResult<'a> {
        /// The skills of this page. A server may have more skills than it lists.
        "skills" skills: Skill<'a>;
    }
}

payload! {
    /// Result of `skills/get`, whose parameters are [`ResourceParams`](super::ResourceParams). Type
    /// `GetSkillResult` of the extension.
    pub struct GetSkillResult<'a> {
        /// The skill.
        "skill" skill: of(Skill<'a>);
        optional:
        /// Time that the result stays fresh, in milliseconds; 0 if missing or negative. Since
        /// 2026-07-28, where it is required.
        "ttlMs" ttl_ms: millis = 0, since V2026_07_28;
        /// Whether caches may share the result between users; private if missing. Since
        /// 2026-07-28, where it is required.
        "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, since V2026_07_28;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Parameters of `resources/directory/read`. Type `ReadResourceDirectoryRequest` of the
    /// extension.
    pub struct ReadDirectoryParams<'a> {
        /// URI of the directory, without a slash at its end.
        "uri" uri: text;
        optional:
        /// Cursor of the page.
        "cursor" cursor: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Result of `resources/directory/read`. Type `ReadResourceDirectoryResult` of the extension.
    pub struct ReadDirectoryResult<'a> {
        /// The entries directly in the directory. Directories have the MIME type
        /// [`DIRECTORY`].
        "resources" resources: list(Resource<'a>);
        optional:
        /// Cursor of the next page; absent on the last page.
        "nextCursor" next_cursor: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

/// The MIME type of a directory.
pub const DIRECTORY: &str = "inode/directory";
