//! Server with two skills on the official Rust SDK, over stdio: one whose files are as its entry
//! says, and one whose `SKILL.md` is not.

use std::error::Error;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

const TEA: &str = "skill://tea/SKILL.md";
const POTS: &str = "skill://tea/a/pots.md";
const CHANGED: &str = "skill://changed/SKILL.md";
const TEA_MD: &str = "---\nname: tea\ndescription: >-\n  Makes\n  tea\n---\nBoil water.\n";

struct Skills;

fn skill(uri: &str, name: &str) -> Skill {
    let own = SkillResource::from_bytes(uri, TEA_MD.as_bytes());
    let files = match uri {
        TEA => vec![own, SkillResource::from_bytes(POTS, b"Two.")],
        _ => vec![own],
    };
    Skill::new(uri, SkillFrontmatter::new(name, "Makes tea"), SkillResources::Files(files))
}

type Context = RequestContext<RoleServer>;

impl ServerHandler for Skills {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_resources();
        ServerConfig::new(capabilities.enable_skills_with_directory_read().build())
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListSkillsResult, ErrorData> {
        let skills = vec![skill(TEA, "tea"), skill(CHANGED, "changed")];
        Ok(ListSkillsResult::with_all_items(skills))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: Context,
    ) -> Result<GetSkillResult, ErrorData> {
        match request.uri.as_str() {
            TEA => Ok(GetSkillResult::new(skill(TEA, "tea"))),
            CHANGED => Ok(GetSkillResult::new(skill(CHANGED, "changed"))),
            _ => Err(ErrorData::invalid_params("no such skill", None)),
        }
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: Context,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        if request.uri != "skill://tea/a" {
            return Err(ErrorData::invalid_params("no directory", None));
        }
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(POTS, "pots.md")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = match request.uri.as_str() {
            TEA => TEA_MD,
            POTS => "Two.",
            CHANGED => "---\nname: changed\n---\nAs long as the other was, 62 bytes, really\n",
            uri => return Err(ErrorData::resource_not_found(format!("no {uri}"), None)),
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    Skills.serve(stdio()).await?.waiting().await?;
    Ok(())
}
