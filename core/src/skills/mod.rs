//! Skills: constants with their digests, and what a client checks.

mod frontmatter;
#[cfg(feature = "alloc")]
mod owned;

#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;

use crate::json::{
    RawJson, begins_with, byte, compare, has_duplicate_key, skip_string, skip_value,
};
use crate::protocol::error::require;
use crate::sha256::sha256;
use crate::types::rendered::Renderer;
use crate::types::{Blob, List, ResourceData, Skill, SkillResource, SkillResources, Text};

// Skills that a server serves.

/// A skill in a [`Catalog`](crate::Catalog), with its files. [`skill!`](crate::skill) makes a
/// constant one; with the feature `alloc`, `ServedSkill::from_files` one that owns its files.
#[derive(Clone, Debug)]
pub struct ServedSkill<'c>(Repr<'c>);

#[derive(Clone, Debug)]
enum Repr<'c> {
    Borrowed {
        skill: Skill<'c>,
        contents: &'c [ResourceData<'c>],
    },
    #[cfg(feature = "alloc")]
    Owned(Arc<owned::OwnedSkill>),
}

impl<'c> ServedSkill<'c> {
    /// Creates a skill of the running program from its entry and the contents of its files, in the
    /// order of the entry. [`Catalog::check`](crate::Catalog::check) checks the entry.
    ///
    /// Of a skill whose files are [`Dynamic`](SkillResources::Dynamic), which has no contents here,
    /// the catalog only lists the entry: the application responds to what is read of it.
    pub const fn new(skill: Skill<'c>, contents: &'c [ResourceData<'c>]) -> Self {
        Self(Repr::Borrowed { skill, contents })
    }

    /// Returns the entry.
    pub fn skill(&self) -> Skill<'_> {
        match &self.0 {
            Repr::Borrowed { skill, .. } => *skill,
            #[cfg(feature = "alloc")]
            Repr::Owned(skill) => skill.entry(),
        }
    }

    /// Whether the catalog does not know its files.
    pub(crate) const fn is_dynamic(&self) -> bool {
        use SkillResources::Dynamic;
        matches!(self.0, Repr::Borrowed { skill: Skill { resources: Dynamic, .. }, .. })
    }

    /// Whether it leaves this file to the application.
    pub(crate) fn leaves(&self, uri: Text<'_>) -> bool {
        self.is_dynamic() && self.skill().has_within(uri)
    }

    /// Whether there is a content for each file.
    pub(crate) fn has_all_contents(&self) -> bool {
        match &self.0 {
            Repr::Borrowed { skill, contents } => {
                let files = match skill.resources {
                    SkillResources::Files(files) => files.len(),
                    SkillResources::Dynamic => 0,
                };
                files == contents.len() && self.files().count() == files
            }
            #[cfg(feature = "alloc")]
            Repr::Owned(_) => true,
        }
    }

    /// Returns the files with their contents.
    pub(crate) fn files(
        &self,
    ) -> impl Iterator<Item = (SkillResource<'_>, ResourceData<'_>)> + Clone {
        (0..).map_while(|at| self.file(at))
    }

    fn file(&self, at: usize) -> Option<(SkillResource<'_>, ResourceData<'_>)> {
        match &self.0 {
            Repr::Borrowed { skill, contents } => match skill.resources {
                SkillResources::Files(files) => {
                    Some((*files.as_slice()?.get(at)?, *contents.get(at)?))
                }
                SkillResources::Dynamic => None,
            },
            #[cfg(feature = "alloc")]
            Repr::Owned(skill) => skill.file(at),
        }
    }

    /// Returns the URI of the directory of the skill, without a slash at its end.
    pub(crate) fn root(&self) -> Option<&str> {
        self.skill().uri.as_plain()?.strip_suffix("/SKILL.md")
    }
}

/// Makes a constant [`ServedSkill`] of files, whose digests and frontmatter are computed while
/// compiling.
///
/// The arguments are the URI of the skill; the folder with the files, as
/// [`include_bytes!`] finds it; and the paths of all files in it but `SKILL.md`, which it always
/// has. It does not compile if the name in the frontmatter is not the last directory of the URI, if
/// the frontmatter cannot be read ([`frontmatter_json`](crate::frontmatter_json) says what can), if
/// a path has anything but ASCII letters, digits and `-._~/`, or if a limit is exceeded. Compiling
/// takes some seconds for each 100 KB of files, of which the compiler may warn.
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
        const DIGESTS: &[[u8; $crate::internal::skills::DIGEST]] =
            &$crate::internal::skills::digests::<{ URIS.len() }>(CONTENTS);
        #[allow(long_running_const_eval)]
        const FRONTMATTER: &[u8] = &$crate::internal::skills::frontmatter::<
            { $crate::internal::skills::frontmatter_len(CONTENTS) },
        >(CONTENTS);
        const FILES: &[$crate::types::SkillResource<'static>] =
            &$crate::internal::skills::files::<{ URIS.len() }>(URIS, CONTENTS, DIGESTS);
        #[allow(long_running_const_eval)]
        const DATA: &[$crate::types::ResourceData<'static>] =
            &$crate::internal::skills::data::<{ URIS.len() }>(CONTENTS);
        const SKILL: $crate::ServedSkill<'static> = $crate::ServedSkill::new(
            $crate::internal::skills::entry(URIS, FRONTMATTER, FILES),
            DATA,
        );
        SKILL
    }};
}

/// Functions for [`skill!`](crate::skill).
pub mod macros {
    #![allow(missing_docs)]

    use super::*;

    pub const DIGEST: usize = DIGEST_LEN;

    pub const fn digests<const N: usize>(contents: &[&[u8]]) -> [[u8; DIGEST]; N] {
        assert!(N <= MAX_SKILL_FILES, "a skill has at most 512 files");
        let (mut all, mut at, mut size) = ([[0; DIGEST]; N], 0, 0);
        while at < N {
            all[at] = digest_text(&sha256(contents[at]));
            size += contents[at].len() as u64;
            at += 1;
        }
        assert!(size <= MAX_SKILL_SIZE, "the files of a skill have at most 16 MiB");
        all
    }

    pub const fn frontmatter_len(contents: &[&[u8]]) -> usize {
        let mut to = Renderer::new(&mut []);
        match frontmatter::render(contents[0], &mut to) {
            // The fault is the message of the error of the compiler.
            Some(fault) => panic!("{}", fault),
            None => to.len(),
        }
    }

    pub const fn frontmatter<const N: usize>(contents: &[&[u8]]) -> [u8; N] {
        let mut text = [0; N];
        frontmatter::render(contents[0], &mut Renderer::new(&mut text));
        text
    }

    pub const fn files<const N: usize>(
        uris: &[&'static str],
        contents: &[&[u8]],
        digests: &'static [[u8; DIGEST]],
    ) -> [SkillResource<'static>; N] {
        let root = uris[0].len() - "/SKILL.md".len();
        let (mut all, mut at) = ([const { SkillResource::new("", "", 0) }; N], 0);
        while at < N {
            assert!(is_path(uris[at].as_bytes(), root), "{}", PATH_RULE);
            let Ok(digest) = core::str::from_utf8(&digests[at]) else { panic!("no digest") };
            all[at] = SkillResource::new(uris[at], digest, contents[at].len() as u64);
            at += 1;
        }
        all
    }

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

    const PATH_RULE: &str = "the path of a file has only ASCII letters, digits and -._~/: \
        `ServedSkill::from_files` encodes others";

    /// Whether a URI has nothing from a byte on that would have to be percent-encoded.
    const fn is_path(uri: &[u8], from: usize) -> bool {
        let mut at = from;
        while at < uri.len() {
            if !is_path_byte(uri[at]) {
                return false;
            }
            at += 1;
        }
        true
    }

    /// Returns the value of a member of an object without whitespace.
    const fn member<'t>(object: &'t [u8], name: &[u8]) -> &'t [u8] {
        let mut at = 1;
        while byte(object, at) == b'"' {
            let Ok(key_end) = skip_string(object, at) else { break };
            let Ok(end) = skip_value(object, key_end + 1, 0) else { break };
            if key_end - at == name.len() + 2 && begins_with(object, at + 1, name) {
                return object.split_at(end).0.split_at(key_end + 1).1;
            }
            at = end + 1;
        }
        &[]
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
        byte(uri, slash) == b'/'
            && begins_with(uri, slash + 1, name)
            && begins_with(uri, slash + 1 + name.len(), b"/SKILL.md")
    }
}

/// Whether a byte of a path stands in a URI as it is.
const fn is_path_byte(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/')
}

// Digests of files as text.

/// Returns a digest as it is written: `sha256:` and 64 hexadecimal digits.
const fn digest_text(digest: &[u8; 32]) -> [u8; DIGEST_LEN] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; DIGEST_LEN];
    let mut at = 0;
    while at < DIGEST_PREFIX.len() {
        text[at] = DIGEST_PREFIX[at];
        at += 1;
    }
    at = 0;
    while at < 32 {
        text[DIGEST_PREFIX.len() + 2 * at] = HEX[(digest[at] >> 4) as usize];
        text[DIGEST_PREFIX.len() + 2 * at + 1] = HEX[(digest[at] & 15) as usize];
        at += 1;
    }
    text
}

/// Length of a digest as text.
const DIGEST_LEN: usize = DIGEST_PREFIX.len() + 64;
const DIGEST_PREFIX: &[u8] = b"sha256:";

// Checks of a client before it uses a skill.

/// Maximum number of files of a skill, `SKILL.md` included. A limit of the extension.
pub const MAX_SKILL_FILES: usize = 512;
/// Maximum size of all files of a skill together, in bytes: 16 MiB. A limit of the extension.
pub const MAX_SKILL_SIZE: u64 = 16 << 20;
/// Maximum length of frontmatter as JSON, in bytes. The YAML may have 16 KiB.
pub const MAX_FRONTMATTER_JSON: usize = 5 * frontmatter::MAX_FRONTMATTER;

/// Returns the YAML frontmatter of a `SKILL.md` as a JSON object, written into `out`, which
/// [`MAX_FRONTMATTER_JSON`] bytes suffice for.
///
/// It reads YAML 1.2 with the core schema: mappings and sequences, also in brackets, text with and
/// without quotes, literal and folded blocks, comments. It refuses what parsers read differently:
/// anchors, aliases, tags, merge keys, keys that occur twice, numbers in other notations than that
/// of JSON; indentation indicators, and more than 8 levels or 256 members in one.
///
/// ```
/// use mcp_sansio::frontmatter_json;
/// let skill = b"---\nname: tea\ndescription: Makes tea # and nothing else\n---\n# Tea\n";
/// let mut out = [0; 128];
/// let json = frontmatter_json(skill, &mut out).unwrap();
/// assert_eq!(json.as_str(), r#"{"name":"tea","description":"Makes tea"}"#);
/// ```
///
/// # Errors
/// [`SkillError::Frontmatter`]: there is none, it is malformed or refused, or `out` is too small.
pub fn frontmatter_json<'o>(skill_md: &[u8], out: &'o mut [u8]) -> Result<RawJson<'o>, SkillError> {
    let mut to = Renderer::new(out);
    let fault = frontmatter::render(skill_md, &mut to);
    let len = to.len();
    if let Some(fault) = fault {
        return Err(SkillError::Frontmatter(fault));
    }
    let text = out.get(..len).ok_or(SkillError::Frontmatter("the memory for it is too small"))?;
    let json = core::str::from_utf8(text).ok().and_then(|text| RawJson::parse(text).ok());
    let json = json.ok_or(SkillError::Frontmatter("it is not UTF-8"))?;
    let has_twice = json.has_duplicate_key();
    require(!has_twice, SkillError::Frontmatter("a key occurs twice"))?;
    Ok(json)
}

/// What is wrong with a skill, or with a file of it. Such a skill or file must not be used.
///
/// After a file that differs from its entry, `skills/get` returns the current entry; what was
/// approved for the old one is not approved for the new one.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillError {
    /// The entry breaks this rule of the extension.
    Entry(&'static str),
    /// The skill has more than [`MAX_SKILL_FILES`] files.
    TooManyFiles,
    /// The files of the skill are larger than [`MAX_SKILL_SIZE`].
    TooLarge,
    /// The skill has no such file.
    Unlisted,
    /// The response does not contain the file, or not as valid text or base64.
    NoContent,
    /// The file does not have the size that the entry says.
    Size {
        /// Number of bytes that the entry says.
        expected: u64,
        /// Number of bytes of the file.
        actual: u64,
    },
    /// The file does not have the digest that the entry says.
    Digest,
    /// The frontmatter of `SKILL.md` could not be read.
    Frontmatter(&'static str),
    /// The frontmatter of `SKILL.md` is not that of the entry.
    FrontmatterDiffers,
}

impl SkillError {
    /// Returns the rule that an entry breaks.
    pub(crate) const fn rule(self) -> &'static str {
        match self {
            Self::Entry(rule) => rule,
            Self::TooManyFiles => "a skill has at most 512 files",
            _ => "the files of a skill have at most 16 MiB",
        }
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(rule) => write!(f, "the entry of the skill is invalid: {rule}"),
            Self::TooManyFiles => {
                write!(f, "the skill has more than {MAX_SKILL_FILES} files")
            }
            Self::TooLarge => {
                write!(f, "the files of the skill are larger than {MAX_SKILL_SIZE} bytes")
            }
            Self::Unlisted => f.write_str("the skill has no such file"),
            Self::NoContent => f.write_str("the response does not contain the file"),
            Self::Size { expected, actual } => {
                write!(f, "the file has {actual} bytes instead of {expected}")
            }
            Self::Digest => f.write_str("the file is not the one whose digest the skill lists"),
            Self::Frontmatter(why) => write!(f, "the frontmatter cannot be read: {why}"),
            Self::FrontmatterDiffers => {
                f.write_str("the frontmatter of SKILL.md is not that of the skill's entry")
            }
        }
    }
}

crate::text::error_type!(SkillError);

impl<'a> Skill<'a> {
    /// Returns the name: a label, which two skills may have.
    pub fn name(&self) -> Option<Text<'a>> {
        self.frontmatter.get("name").and_then(RawJson::as_string).map(Text::from_json)
    }

    /// Returns the description.
    pub fn description(&self) -> Option<Text<'a>> {
        self.frontmatter.get("description").and_then(RawJson::as_string).map(Text::from_json)
    }

    /// Checks the entry: its URI, name and description; that the files are listed once each, are
    /// all within the directory of the skill, `SKILL.md` among them, and within the limits.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), SkillError> {
        let root = self.root_len().ok_or(SkillError::Entry(
            "its URI must end with the name of the skill and /SKILL.md",
        ))?;
        let name = self.name().ok_or(SkillError::Entry("it has no name"))?;
        require(is_name(name), SkillError::Entry(NAME_RULE))?;
        let name_len = name.chars().count();
        let start = root.checked_sub(name_len + 1);
        let is_named = start.and_then(|start| start.checked_sub(1)).is_some_and(|slash| {
            self.uri.chars().skip(slash).take(name_len + 1).eq("/".chars().chain(name.chars()))
        });
        require(is_named, SkillError::Entry("the last directory of its URI must be its name"))?;
        let is_described = self.description().is_some_and(|text| !text.is_empty());
        require(is_described, SkillError::Entry("it has no description"))?;
        match self.resources {
            SkillResources::Files(files) => self.check_files(files.iter()),
            SkillResources::Dynamic => Ok(()),
        }
    }

    fn check_files<E>(
        &self,
        files: impl Iterator<Item = Result<SkillResource<'a>, E>>,
    ) -> Result<(), SkillError> {
        let mut hashes = [0; MAX_SKILL_FILES];
        let (mut size, mut has_own) = (0u64, false);
        for (at, file) in files.enumerate() {
            let file = file.map_err(|_| {
                SkillError::Entry("a file must have the members uri, digest and size")
            })?;
            // An array of the files would take an allocator.
            let hash = hash(file.uri);
            let (before, rest) = hashes.split_at_mut_checked(at).ok_or(SkillError::TooManyFiles)?;
            *rest.first_mut().ok_or(SkillError::TooManyFiles)? = hash;
            let is_new = !before.contains(&hash);
            require(is_new, SkillError::Entry("two files have the same URI"))?;
            let rule = "a digest must be sha256: and 64 lower-case hexadecimal digits";
            require(is_digest(file.digest), SkillError::Entry(rule))?;
            let rule = "a file is not in the directory of the skill";
            require(self.has_within(file.uri), SkillError::Entry(rule))?;
            size = size.saturating_add(file.size);
            require(size <= MAX_SKILL_SIZE, SkillError::TooLarge)?;
            has_own |= file.uri == self.uri;
        }
        require(has_own, SkillError::Entry("its files lack SKILL.md"))
    }

    /// Verifies the bytes of a file against the entry: that the skill has the file, its size and
    /// its digest. Of a skill whose files are [`Dynamic`](SkillResources::Dynamic) only the
    /// directory and the limit of the size can be checked. Use [`check`](Self::check) before.
    ///
    /// A digest shows that the file is the one that the entry means. It does not show that either
    /// can be trusted: both are from the server.
    ///
    /// # Errors
    /// The file must not be used.
    pub fn verify(&self, uri: &str, content: &[u8]) -> Result<(), SkillError> {
        let actual = content.len() as u64;
        let Some(file) = self.file(uri)? else {
            return require(actual <= MAX_SKILL_SIZE, SkillError::TooLarge);
        };
        require(file.size == actual, SkillError::Size { expected: file.size, actual })?;
        let digest = digest_text(&sha256(content));
        let digest = core::str::from_utf8(&digest).unwrap_or_default();
        require(file.digest == digest, SkillError::Digest)
    }

    /// Returns the entry of a file; `None` for a file of a dynamic skill.
    ///
    /// # Errors
    /// [`SkillError::Unlisted`]: the skill has no such file, which must not be requested then.
    pub fn file(&self, uri: &str) -> Result<Option<SkillResource<'a>>, SkillError> {
        match self.resources {
            SkillResources::Files(files) => {
                let mut files = files.iter().filter_map(Result::ok);
                files.find(|file| file.uri == uri).map(Some).ok_or(SkillError::Unlisted)
            }
            SkillResources::Dynamic => {
                self.has_within(Text::new(uri)).then_some(None).ok_or(SkillError::Unlisted)
            }
        }
    }

    /// Verifies that the frontmatter of `SKILL.md` is that of the entry: what was shown and
    /// approved. That of the entry has at most [`MAX_FRONTMATTER_JSON`] bytes. `scratch` is for
    /// [`frontmatter_json`].
    ///
    /// # Errors
    /// The skill must not be loaded.
    pub fn verify_frontmatter(
        &self,
        skill_md: &[u8],
        scratch: &mut [u8],
    ) -> Result<(), SkillError> {
        let own = frontmatter_json(skill_md, scratch)?;
        // The entry, which a server has written, is read once for each member of the file.
        let may_be_same = self.frontmatter.as_str().len() <= MAX_FRONTMATTER_JSON;
        let is_own = may_be_same && is_same(own, self.frontmatter);
        require(is_own, SkillError::FrontmatterDiffers)
    }

    /// Returns how many characters of the URI name the directory, with the slash at its end.
    fn root_len(&self) -> Option<usize> {
        let count = self.uri.chars().count();
        let root = count.checked_sub("SKILL.md".len())?;
        let has_end = self.uri.chars().skip(root.checked_sub(1)?).eq("/SKILL.md".chars());
        let is_path = !self.uri.chars().any(|c| matches!(c, '?' | '#'));
        (has_end && is_path).then_some(root)
    }

    /// Whether a URI names a file in the directory of the skill.
    fn has_within(&self, uri: Text<'_>) -> bool {
        let Some(root) = self.root_len() else { return false };
        if !uri.chars().take(root).eq(self.uri.chars().take(root)) {
            return false;
        }
        // No segment may be empty or of dots, which would lead out of the directory.
        let (mut len, mut dots) = (0, 0);
        let mut before = ['/'; 2];
        for c in uri.chars().skip(root) {
            match (before, c) {
                (_, '?' | '#') | (['%', '2'], 'e' | 'E' | 'f' | 'F') => return false,
                (_, '/') if len == dots && len < 3 => return false,
                (_, '/') => (len, dots) = (0, 0),
                _ => (len, dots) = (len + 1, dots + usize::from(c == '.')),
            }
            before = [before[1], c];
        }
        !(len == dots && len < 3)
    }
}

/// Two URIs with the same hash count as the same.
fn hash(uri: Text<'_>) -> u64 {
    let step = |hash: u64, c| (hash ^ u64::from(c)).wrapping_mul(0x0000_0100_0000_01b3);
    uri.chars().fold(0xcbf2_9ce4_8422_2325, |hash, c| step(hash, u32::from(c)))
}

/// Whether text is a name as of the Agent Skills specification.
fn is_name(name: Text<'_>) -> bool {
    let mut before = '-';
    let is_valid = name.chars().all(|c| {
        let ok = if c == '-' { before != '-' } else { c.is_alphanumeric() && !c.is_uppercase() };
        before = c;
        ok
    });
    is_valid && before != '-' && name.chars().count() <= 64
}

const NAME_RULE: &str =
    "a name must be 1 to 64 lower-case letters, digits and single hyphens between them";

fn is_digest(digest: Text<'_>) -> bool {
    digest.chars().take(7).eq("sha256:".chars())
        && digest.chars().count() == DIGEST_LEN
        && digest.chars().skip(7).all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

/// Whether two values are the same JSON. The first has at most 8 levels, and no key twice.
fn is_same(one: RawJson<'_>, other: RawJson<'_>) -> bool {
    if let (Some(one), Some(other)) = (one.as_string(), other.as_string()) {
        return one == other;
    }
    if one.is_number() && other.is_number() {
        return compare(one.as_str(), other.as_str()).is_eq();
    }
    if one.is_array() && other.is_array() {
        let mut others = other.elements();
        return one.elements().all(|one| others.next().is_some_and(|other| is_same(one, other)))
            && others.next().is_none();
    }
    if one.is_object() && other.is_object() {
        return one.members().count() == other.members().count()
            && one.members().all(|(key, one)| {
                let mut members = other.members();
                members.find(|(name, _)| *name == key).is_some_and(|(_, other)| is_same(one, other))
            });
    }
    one == other
}
