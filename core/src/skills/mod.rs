//! Skills: constants with their digests, and what a client checks.

mod check;
mod digest;
mod frontmatter;
mod served;

pub use check::{
    MAX_FRONTMATTER_JSON, MAX_SKILL_FILES, MAX_SKILL_SIZE, SkillError, frontmatter_json,
};
pub use served::ServedSkill;
#[doc(hidden)]
pub use served::macros;
