//! Skills that a client gets, and the files of them.

use mcp_sansio::types::{
    GetSkillResult, ReadResourceResult, ResourceContents, ResourceData, Skill,
};
use mcp_sansio::{MAX_FRONTMATTER_JSON, OwnedJson, SkillError};

/// Checks that the result of `skills/get` is for the skill that was requested.
pub(crate) fn check_skill(result: OwnedJson, uri: &str) -> Result<OwnedJson, SkillError> {
    match result.as_raw().to::<GetSkillResult<'_>>() {
        Ok(entry) if entry.skill.uri == uri => Ok(result),
        Ok(_) => Err(SkillError::Entry("it has another URI than the requested one")),
        Err(_) => Err(SkillError::Entry("it lacks uri, frontmatter or resources")),
    }
}

/// Returns the bytes of a file of a skill from the result of `resources/read`, verified.
pub(crate) fn verified(
    skill: &Skill<'_>,
    uri: &str,
    result: &OwnedJson,
) -> Result<Vec<u8>, SkillError> {
    let result = result.as_raw().to::<ReadResourceResult<'_>>();
    let contents = result.map_err(|_| SkillError::NoContent)?.contents;
    let file = contents.iter().filter_map(Result::ok).find(|it| it.uri == uri);
    let file = file.and_then(bytes).ok_or(SkillError::NoContent)?;
    skill.verify(uri, &file)?;
    if skill.uri == uri {
        skill.verify_frontmatter(&file, &mut vec![0; MAX_FRONTMATTER_JSON])?;
    }
    Ok(file)
}

fn bytes(contents: ResourceContents<'_>) -> Option<Vec<u8>> {
    match contents.data {
        ResourceData::Text(text) => Some(text.to_string().into_bytes()),
        ResourceData::Blob(blob) => {
            let len = blob.as_base64().map_or(0, |text| text.chars().count());
            let mut bytes = vec![0; len];
            let len = blob.decode_to(&mut bytes).ok()?.len();
            bytes.truncate(len);
            Some(bytes)
        }
    }
}
