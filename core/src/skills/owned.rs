//! Skills in memory of their own.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{
    DIGEST_LEN, MAX_FRONTMATTER_JSON, Repr, ServedSkill, SkillError, digest_text, frontmatter_json,
    is_path_byte,
};
use crate::encode::OwnedJson;
use crate::protocol::Revision;
use crate::sha256::sha256;
use crate::types::{Blob, List, ResourceData, Skill, SkillResource, SkillResources, Text};

/// A skill that owns its files.
#[derive(Debug)]
pub(super) struct OwnedSkill {
    uri: Box<str>,
    frontmatter: OwnedJson,
    /// The entries of the files, an array.
    resources: OwnedJson,
    files: Vec<OwnedFile>,
}

#[derive(Debug)]
struct OwnedFile {
    uri: Box<str>,
    digest: [u8; DIGEST_LEN],
    content: Content,
}

#[derive(Debug)]
enum Content {
    Text(String),
    Blob(Vec<u8>),
}

impl ServedSkill<'static> {
    /// Creates a skill of its files, whose digests and frontmatter are read here. `root` is the URI
    /// of its directory, without a slash at its end. A file is its path in the directory, with `/`
    /// between the parts, and its bytes.
    ///
    /// ```
    /// use mcp_sansio::ServedSkill;
    /// let skill_md = b"---\nname: tea\ndescription: Makes tea\n---\nBoil water.\n";
    /// let files = [("SKILL.md".to_owned(), skill_md.to_vec())];
    /// let skill = ServedSkill::from_files("skill://tea", files)?;
    /// assert_eq!(skill.skill().uri, "skill://tea/SKILL.md");
    /// # Ok::<(), mcp_sansio::SkillError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`frontmatter_json`] and of [`Skill::check`].
    pub fn from_files(
        root: &str,
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, SkillError> {
        let mut files: Vec<_> = files.into_iter().collect();
        // Its `SKILL.md` is its first file.
        files.sort_by_key(|(path, _)| path != "SKILL.md");
        let skill_md = files.first().filter(|(path, _)| path == "SKILL.md");
        let skill_md = skill_md.map_or(&[][..], |(_, content)| content);
        let mut scratch = vec![0; MAX_FRONTMATTER_JSON];
        let frontmatter = frontmatter_json(skill_md, &mut scratch)?.into();
        let files: Vec<_> = files.into_iter().map(|file| OwnedFile::new(root, file)).collect();
        let entries: Vec<_> = files.iter().map(OwnedFile::entry).collect();
        let resources = OwnedJson::new(entries.as_slice(), Revision::LATEST);
        let resources = resources.map_err(|_| SkillError::Entry("its files are no JSON"))?;
        let uri = format!("{root}/SKILL.md").into();
        let skill = OwnedSkill { uri, frontmatter, resources, files };
        skill.entry().check()?;
        Ok(Self(Repr::Owned(Arc::new(skill))))
    }
}

impl OwnedSkill {
    pub(super) fn entry(&self) -> Skill<'_> {
        let resources = SkillResources::Files(List::scanned(self.resources.as_json()));
        Skill::new(&self.uri, self.frontmatter.as_json(), resources)
    }

    pub(super) fn file(&self, at: usize) -> Option<(SkillResource<'_>, ResourceData<'_>)> {
        let file = self.files.get(at)?;
        Some((file.entry(), file.content.data()))
    }
}

impl OwnedFile {
    fn new(root: &str, (path, content): (String, Vec<u8>)) -> Self {
        let digest = digest_text(&sha256(&content));
        let mut uri = format!("{root}/");
        for byte in path.bytes() {
            if is_path_byte(byte) {
                uri.push(char::from(byte));
            } else {
                uri.push_str(&format!("%{byte:02X}"));
            }
        }
        let content = match String::from_utf8(content) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Blob(error.into_bytes()),
        };
        Self { uri: uri.into(), digest, content }
    }

    fn entry(&self) -> SkillResource<'_> {
        let digest = core::str::from_utf8(&self.digest).unwrap_or_default();
        let size = match &self.content {
            Content::Text(text) => text.len(),
            Content::Blob(bytes) => bytes.len(),
        };
        SkillResource::new(&self.uri, digest, size as u64)
    }
}

impl Content {
    fn data(&self) -> ResourceData<'_> {
        match self {
            Self::Text(text) => ResourceData::Text(Text::new(text)),
            Self::Blob(bytes) => ResourceData::Blob(Blob::new(bytes)),
        }
    }
}
