//! Skills of a folder, which are read again while servers run.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mcp_sansio::ServedSkill;
use mcp_sansio::types::SkillResources;

use crate::SharedCatalog;
use crate::lock::lock;

/// A folder of skills in a [`SharedCatalog`]: each folder in it with a `SKILL.md` is the skill
/// `skill://NAME`, which has the name of its folder.
///
/// All files are read into memory. Names that begin with a dot are skipped, and so are files beside
/// the folders of the skills. Everything else in the folder of a skill is a file of it, which
/// clients can read. Symbolic links are followed within the folder.
///
/// The configuration of the server declares
/// [`SKILLS_DIRECTORIES`](mcp_sansio::ServerFeatures::SKILLS_DIRECTORIES), and
/// [`RESOURCES_LIST_CHANGED`](mcp_sansio::ServerFeatures::RESOURCES_LIST_CHANGED) and
/// [`RESOURCES_SUBSCRIBE`](mcp_sansio::ServerFeatures::RESOURCES_SUBSCRIBE) for clients to hear of
/// changes.
#[derive(Debug)]
pub struct SkillFolder {
    path: PathBuf,
    catalog: SharedCatalog,
    limits: SkillLimits,
    /// The skills of the folder that are in the catalog.
    served: Mutex<Vec<ServedSkill<'static>>>,
}

/// The limits of a [`SkillFolder`]. New versions add fields, so a value ends with
/// `..SkillLimits::new()`.
///
/// A skill has at most 512 files and 16 MiB, which are limits of the extension
/// ([`MAX_SKILL_FILES`](mcp_sansio::MAX_SKILL_FILES),
/// [`MAX_SKILL_SIZE`](mcp_sansio::MAX_SKILL_SIZE)).
#[derive(Clone, Debug)]
pub struct SkillLimits {
    /// Maximum size of a file, in bytes. Default: 1 MiB.
    pub max_file: u64,
    /// Maximum number of files of all skills together. Default: 1,024.
    pub max_files: usize,
    /// Maximum size of all files together, in bytes, which are in memory; while they are read
    /// again, twice. Default: 64 MiB.
    pub max_size: u64,
}

impl SkillLimits {
    /// Creates the default limits.
    pub const fn new() -> Self {
        Self { max_file: 1 << 20, max_files: 1024, max_size: 64 << 20 }
    }
}

mcp_sansio::default_is_new!(SkillLimits);

/// What [`SkillFolder::reload`] has changed: names of skills.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SkillChanges {
    /// Skills that are new.
    pub added: Vec<String>,
    /// Skills of which a file has changed.
    pub changed: Vec<String>,
    /// Skills that are gone.
    pub removed: Vec<String>,
}

impl SkillFolder {
    /// Reads a folder and adds its skills to a catalog. The other entries of the catalog stay.
    ///
    /// # Errors
    /// As [`reload`](Self::reload).
    pub fn load(
        path: impl Into<PathBuf>,
        catalog: &SharedCatalog,
        limits: SkillLimits,
    ) -> Result<Self, SkillFolderError> {
        let (path, catalog) = (path.into(), catalog.clone());
        let folder = Self { path, catalog, limits, served: Mutex::default() };
        folder.reload()?;
        Ok(folder)
    }

    /// Reads the folder again, and puts its skills into the place of those that it had, all at
    /// once. Clients that listen are told of the list of resources, in which each skill is, and of
    /// files that have changed or are gone. The program calls it when it likes: on a signal, or
    /// every minute. It blocks while it reads.
    ///
    /// # Errors
    /// Something in the folder is wrong, as the error says, or a skill of the catalog that is not
    /// of this folder has the same URI. Then nothing has changed.
    pub fn reload(&self) -> Result<SkillChanges, SkillFolderError> {
        let mut served = lock(&self.served);
        let new = self.read()?;
        let is_own = |skill: &ServedSkill<'_>| find(&served, skill).is_some();
        let updated = self.catalog.update(|catalog| {
            let others = catalog.skills().iter().filter(|skill| !is_own(skill));
            catalog.set_skills(others.chain(&new).cloned().collect())
        });
        updated.map_err(|error| SkillFolderError::new(&self.path, error))?;
        let mut changes = SkillChanges::default();
        for skill in &new {
            match find(&served, skill) {
                None => changes.added.push(name(skill)),
                Some(old) if files(old) != files(skill) => changes.changed.push(name(skill)),
                Some(_) => {}
            }
        }
        let is_gone = |skill: &&ServedSkill<'_>| find(&new, skill).is_none();
        changes.removed = served.iter().filter(is_gone).map(name).collect();
        *served = new;
        Ok(changes)
    }

    fn read(&self) -> Result<Vec<ServedSkill<'static>>, SkillFolderError> {
        let root = fs::canonicalize(&self.path);
        let root = root.map_err(|error| SkillFolderError::new(&self.path, error))?;
        let mut reader = Reader { root, limits: &self.limits, files: 0, size: 0 };
        let mut skills = Vec::new();
        for (name, path) in entries(&self.path)? {
            if reader.real(&path)?.1.is_dir() {
                skills.push(reader.skill(&name, &path)?);
            }
        }
        Ok(skills)
    }
}

/// Returns the skill with the same URI.
fn find<'s>(
    skills: &'s [ServedSkill<'static>],
    skill: &ServedSkill<'_>,
) -> Option<&'s ServedSkill<'static>> {
    skills.iter().find(|other| other.skill().uri == skill.skill().uri)
}

fn name(skill: &ServedSkill<'_>) -> String {
    skill.skill().name().into_iter().flat_map(|name| name.chars()).collect()
}

/// Returns the entries of the files, which have their digests.
fn files<'s>(skill: &'s ServedSkill<'_>) -> Option<&'s str> {
    match skill.skill().resources {
        SkillResources::Files(files) => files.as_json().map(|json| json.as_str()),
        _ => None,
    }
}

/// Returns the names and paths in a folder that are not hidden, in the order of their names.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, SkillFolderError> {
    let failed = |error| SkillFolderError::new(folder, error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().into_string().map_err(|name: OsString| {
            SkillFolderError::new(&folder.join(name), "its name is not UTF-8: rename it")
        })?;
        if !name.starts_with('.') {
            entries.push((name, entry.path()));
        }
    }
    entries.sort_unstable();
    Ok(entries)
}

/// Reads a folder, and counts what it has read.
struct Reader<'r> {
    /// The folder without symbolic links.
    root: PathBuf,
    limits: &'r SkillLimits,
    files: usize,
    size: u64,
}

impl Reader<'_> {
    fn skill(
        &mut self,
        name: &str,
        folder: &Path,
    ) -> Result<ServedSkill<'static>, SkillFolderError> {
        let mut files = Vec::new();
        self.walk(folder, "", &mut files)?;
        let skill_md = folder.join("SKILL.md");
        if !files.iter().any(|(path, _)| path == "SKILL.md") {
            return Err(SkillFolderError::new(
                &skill_md,
                "there is no such file: write it, or move its folder away",
            ));
        }
        let skill = ServedSkill::from_files(&format!("skill://{name}"), files);
        skill.map_err(|error| SkillFolderError::new(&skill_md, error))
    }

    /// Reads the files of a folder, which is `below` that of the skill.
    fn walk(
        &mut self,
        folder: &Path,
        below: &str,
        files: &mut Vec<(String, Vec<u8>)>,
    ) -> Result<(), SkillFolderError> {
        for (name, path) in entries(folder)? {
            let inner = format!("{below}{name}");
            let failed = |reason: String| Err(SkillFolderError::new(&path, reason));
            let (real, metadata) = self.real(&path)?;
            if metadata.is_dir() {
                if inner.split('/').count() > MAX_DEPTH {
                    return failed(format!(
                        "a skill has at most {MAX_DEPTH} folders in each other: move it up"
                    ));
                }
                self.walk(&path, &format!("{inner}/"), files)?;
            } else if metadata.is_file() {
                files.push((inner, self.file(&path, &real)?));
            } else {
                return failed("it is neither a file nor a folder: move it away".to_owned());
            }
        }
        Ok(())
    }

    /// Returns where a path leads, which is in the folder.
    fn real(&self, path: &Path) -> Result<(PathBuf, Metadata), SkillFolderError> {
        let failed = |error| SkillFolderError::new(path, error);
        let real = fs::canonicalize(path).map_err(failed)?;
        if !real.starts_with(&self.root) {
            let reason = "the link leads out of the folder of the skills: put a copy in its place";
            return Err(SkillFolderError::new(path, reason));
        }
        let metadata = fs::metadata(&real).map_err(failed)?;
        Ok((real, metadata))
    }

    fn file(&mut self, path: &Path, real: &Path) -> Result<Vec<u8>, SkillFolderError> {
        let SkillLimits { max_file, max_files, max_size } = *self.limits;
        let failed = |error| SkillFolderError::new(path, error);
        let mut content = Vec::new();
        let file = File::open(real).map_err(failed)?;
        file.take(max_file.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        self.files += 1;
        self.size += content.len() as u64;
        for (what, number, limit, field) in [
            ("bytes of the file", content.len() as u64, max_file, "max_file"),
            ("files of the skills", self.files as u64, max_files as u64, "max_files"),
            ("bytes of all skills", self.size, max_size, "max_size"),
        ] {
            if number > limit {
                let advice = format!("remove some, or set SkillLimits::{field}");
                let reason = format!("the {what} are more than {limit}: {advice}");
                return Err(SkillFolderError::new(path, reason));
            }
        }
        Ok(content)
    }
}

/// Something is wrong in a [`SkillFolder`], whose skills are as they were. `Display` writes the
/// path and the reason, which says what to do.
pub struct SkillFolderError {
    /// The file or folder.
    pub path: PathBuf,
    /// The fault, and what to do.
    pub reason: String,
}

impl SkillFolderError {
    fn new(path: &Path, reason: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Display for SkillFolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

mcp_sansio::error_type!(SkillFolderError);

/// Maximum number of folders in each other in the folder of a skill. It ends the search where links
/// lead in a circle.
const MAX_DEPTH: usize = 8;
