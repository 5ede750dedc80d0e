//! Skills that a server serves.

use super::check::NAME_RULE;
use super::digest;
use super::frontmatter;
use super::{MAX_SKILL_FILES, MAX_SKILL_SIZE};
use crate::json::{RawJson, byte, has_duplicate_key, skip_string, skip_value};
use crate::sha256::sha256;
use crate::types::rendered::Renderer;
use crate::types::{Blob, List, ResourceData, Skill, SkillResource, SkillResources, Text};

/// A skill in a [`Catalog`](crate::Catalog), with its files. [`skill!`](crate::skill) makes a
/// constant one.
#[derive(Clone, Copy, Debug)]
pub struct ServedSkill<'c> {
    skill: Skill<'c>,
    contents: &'c [ResourceData<'c>],
}

impl<'c> ServedSkill<'c> {
    /// Creates a skill of the running program from its entry and the contents of its files, in the
    /// order of the entry. [`Catalog::check`](crate::Catalog::check) checks the entry.
    ///
    /// Of a skill whose files are [`Dynamic`](SkillResources::Dynamic), which has no contents here,
    /// the catalog only lists the entry: the application responds to what is read of it.
    #[must_use]
    pub const fn new(skill: Skill<'c>, contents: &'c [ResourceData<'c>]) -> Self {
        Self { skill, contents }
    }

    /// Returns the entry.
    #[must_use]
    pub const fn skill(&self) -> &Skill<'c> {
        &self.skill
    }

    /// Whether the catalog does not know its files.
    pub(crate) const fn is_dynamic(&self) -> bool {
        matches!(self.skill.resources, SkillResources::Dynamic)
    }

    /// Whether there is a content for each file.
    pub(crate) fn has_all_contents(&self) -> bool {
        let files = match self.skill.resources {
            SkillResources::Files(files) => files.len(),
            SkillResources::Dynamic => 0,
        };
        files == self.contents.len() && self.files().count() == files
    }

    /// Returns the files with their contents.
    pub(crate) fn files(
        &self,
    ) -> impl Iterator<Item = (SkillResource<'c>, ResourceData<'c>)> + Clone + use<'c> {
        let files = match self.skill.resources {
            SkillResources::Files(files) => files.as_slice().unwrap_or_default(),
            SkillResources::Dynamic => &[],
        };
        files.iter().copied().zip(self.contents.iter().copied())
    }

    /// Returns the URI of the directory of the skill, without a slash at its end.
    pub(crate) fn root(&self) -> Option<&'c str> {
        self.skill.uri.as_plain()?.strip_suffix("/SKILL.md")
    }
}

/// Makes a constant [`ServedSkill`] of files, whose digests and frontmatter are computed while
/// compiling.
///
/// The arguments are the URI of the skill; the folder with the files, as
/// [`include_bytes!`] finds it; and the paths of all files in it but `SKILL.md`, which it always
/// has. It does not compile if the name in the frontmatter is not the last directory of the URI, if
/// the frontmatter cannot be read ([`frontmatter_json`](crate::frontmatter_json) says what can), or
/// if a limit is exceeded. Compiling takes some seconds for each 100 KB of files, of which the
/// compiler may warn.
///
/// ```
/// use mcp_sansio::{Catalog, ServedSkill, ServerFeatures, skill};
///
/// static CATALOG: Catalog = Catalog::new().skills(SKILLS);
/// static SKILLS: &[ServedSkill] = &[
///     skill!("skill://soldering" in "../../../examples/skills/soldering", "references/IRONS.md"),
/// ];
/// CATALOG.check().unwrap();
/// assert!(CATALOG.features().contains(ServerFeatures::SKILLS));
/// ```
#[macro_export]
macro_rules! skill {
    ($root:literal in $folder:literal $(, $file:literal)* $(,)?) => {{
        const CONTENTS: &[&[u8]] = &[
            include_bytes!(concat!($folder, "/SKILL.md"))
            $(, include_bytes!(concat!($folder, "/", $file)))*
        ];
        const URIS: &[&str] = &[concat!($root, "/SKILL.md") $(, concat!($root, "/", $file))*];
        #[allow(long_running_const_eval)]
        const DIGESTS: &[[u8; $crate::skill_macros::DIGEST]] =
            &$crate::skill_macros::digests::<{ URIS.len() }>(CONTENTS);
        #[allow(long_running_const_eval)]
        const FRONTMATTER: &[u8] = &$crate::skill_macros::frontmatter::<
            { $crate::skill_macros::frontmatter_len(CONTENTS) },
        >(CONTENTS);
        const FILES: &[$crate::types::SkillResource<'static>] =
            &$crate::skill_macros::files::<{ URIS.len() }>(URIS, CONTENTS, DIGESTS);
        #[allow(long_running_const_eval)]
        const DATA: &[$crate::types::ResourceData<'static>] =
            &$crate::skill_macros::data::<{ URIS.len() }>(CONTENTS);
        const SKILL: $crate::ServedSkill<'static> = $crate::ServedSkill::new(
            $crate::skill_macros::entry(URIS, FRONTMATTER, FILES),
            DATA,
        );
        SKILL
    }};
}

/// Functions for [`skill!`](crate::skill).
pub mod macros {
    #![allow(missing_docs)]

    use super::*;

    pub const DIGEST: usize = super::digest::LEN;

    #[must_use]
    pub const fn digests<const N: usize>(contents: &[&[u8]]) -> [[u8; DIGEST]; N] {
        assert!(N <= MAX_SKILL_FILES, "a skill has at most 512 files");
        let (mut all, mut at, mut size) = ([[0; DIGEST]; N], 0, 0);
        while at < N {
            all[at] = super::digest::text_of(&sha256(contents[at]));
            size += contents[at].len() as u64;
            at += 1;
        }
        assert!(size <= MAX_SKILL_SIZE, "the files of a skill have at most 16 MiB");
        all
    }

    #[must_use]
    pub const fn frontmatter_len(contents: &[&[u8]]) -> usize {
        let mut to = Renderer::new(&mut []);
        match frontmatter::render(contents[0], &mut to) {
            // The fault is the message of the error of the compiler.
            Some(fault) => panic!("{}", fault),
            None => to.len(),
        }
    }

    #[must_use]
    pub const fn frontmatter<const N: usize>(contents: &[&[u8]]) -> [u8; N] {
        let mut text = [0; N];
        frontmatter::render(contents[0], &mut Renderer::new(&mut text));
        text
    }

    #[must_use]
    pub const fn files<const N: usize>(
        uris: &[&'static str],
        contents: &[&[u8]],
        digests: &'static [[u8; DIGEST]],
    ) -> [SkillResource<'static>; N] {
        let (mut all, mut at) = ([const { SkillResource::new("", "", 0) }; N], 0);
        while at < N {
            let Ok(digest) = core::str::from_utf8(&digests[at]) else { panic!("no digest") };
            all[at] = SkillResource::new(uris[at], digest, contents[at].len() as u64);
            at += 1;
        }
        all
    }

    #[must_use]
    pub const fn data<const N: usize>(contents: &[&'static [u8]]) -> [ResourceData<'static>; N] {
        let (mut all, mut at) = ([const { ResourceData::Text(Text::new("")) }; N], 0);
        while at < N {
            all[at] = match core::str::from_utf8(contents[at]) {
                Ok(text) => ResourceData::Text(Text::new(text)),
                Err(_) => ResourceData::Blob(Blob::new(contents[at])),
            };
            at += 1;
        }
        all
    }

    #[must_use]
    pub const fn entry(
        uris: &[&'static str],
        frontmatter: &'static [u8],
        files: &'static [SkillResource<'static>],
    ) -> Skill<'static> {
        let Ok(json) = core::str::from_utf8(frontmatter) else { panic!("SKILL.md is not UTF-8") };
        assert!(!has_duplicate_key(frontmatter), "a key occurs twice in the frontmatter");
        let name = member(frontmatter, b"name");
        assert!(is_name(name), "{}", NAME_RULE);
        let description = member(frontmatter, b"description");
        assert!(matches!(description, [b'"', _, _, ..]), "the skill has no description");
        assert!(is_last_directory(uris[0].as_bytes(), name), "the URI must end with the name");
        let resources = SkillResources::Files(List::new(files));
        Skill::new(uris[0], RawJson::scanned(json), resources)
    }

    /// Returns the value of a member of an object without whitespace.
    const fn member<'t>(object: &'t [u8], name: &[u8]) -> &'t [u8] {
        let mut at = 1;
        while byte(object, at) == b'"' {
            let Ok(key_end) = skip_string(object, at) else { break };
            let Ok(end) = skip_value(object, key_end + 1, 0) else { break };
            let (_, rest) = object.split_at(at);
            if key_end - at == name.len() + 2 && begins_with(rest.split_at(1).1, name) {
                return object.split_at(end).0.split_at(key_end + 1).1;
            }
            at = end + 1;
        }
        &[]
    }

    const fn begins_with(text: &[u8], start: &[u8]) -> bool {
        let mut at = 0;
        while at < start.len() {
            if byte(text, at) != start[at] {
                return false;
            }
            at += 1;
        }
        true
    }

    /// Whether a JSON string is a name as of the Agent Skills specification.
    const fn is_name(json: &[u8]) -> bool {
        let [b'"', name @ .., b'"'] = json else { return false };
        let (mut at, mut before) = (0, b'-');
        while at < name.len() {
            match name[at] {
                b'a'..=b'z' | b'0'..=b'9' => {}
                b'-' if before != b'-' => {}
                _ => return false,
            }
            before = name[at];
            at += 1;
        }
        before != b'-' && name.len() <= 64
    }

    /// Whether a URI ends with `/NAME/SKILL.md`.
    const fn is_last_directory(uri: &[u8], json: &[u8]) -> bool {
        let [b'"', name @ .., b'"'] = json else { return false };
        let Some(slash) = uri.len().checked_sub(name.len() + "//SKILL.md".len()) else {
            return false;
        };
        let (_, end) = uri.split_at(slash);
        byte(end, 0) == b'/'
            && begins_with(end.split_at(1).1, name)
            && begins_with(end.split_at(1 + name.len()).1, b"/SKILL.md")
    }
}
