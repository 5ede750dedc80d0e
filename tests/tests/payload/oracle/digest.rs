//! Digests against the crate `sha2`.

use mcp_sansio::types::{List, Skill, SkillResource, SkillResources};
use mcp_sansio::{RawJson, SkillError};
use sha2::{Digest as _, Sha256};

use super::random::Random;

#[test]
fn skl_09_skl_16_digests_are_sha_256_of_the_raw_bytes() {
    let mut random = Random::new(3);
    for len in (0..300).chain([1000, 4095, 4096, 65_537]) {
        let mut content: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        let sum = Sha256::digest(&content);
        let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        let digest = format!("sha256:{hex}");
        let files = [SkillResource::new("s://a/SKILL.md", &digest, len)];
        let files = SkillResources::Files(List::new(&files));
        let skill = Skill::new("s://a/SKILL.md", RawJson::EMPTY, files);
        assert_eq!(skill.verify("s://a/SKILL.md", &content), Ok(()), "{len}");
        if len > 0 {
            let at = random.below(content.len());
            content[at] ^= 1 << random.below(8);
            assert_eq!(skill.verify("s://a/SKILL.md", &content), Err(SkillError::Digest), "{len}");
        }
    }
}
