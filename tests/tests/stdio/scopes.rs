//! Scopes of tools are rules of HTTP.

use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{Catalog, Era, NoOutput, RawJson, ServerConfig, ToolContext, ToolResult};
use mcp_sansio_adapters::blocking::App;

use super::CLIENT;

static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("server", "1"), CATALOG.features());
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Removes all files
    #[tool(scopes("files:write"))]
    Clear,
}

struct Files;

impl ToolHandler for Files {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, Call::Clear: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        Ok("removed".into())
    }
}

#[test]
fn auth_02_a_stream_has_no_authorization() {
    for era in Era::ALL {
        let app = App::new(&SERVER).catalog(&CATALOG);
        let mut client = app.memory(|ctx| ctx.call_tool(&mut Files)).connect(&CLIENT, era).unwrap();
        // Neither is a scope asked for, nor is it told.
        let result = client.call_tool("clear", &RawJson::from_static("{}")).unwrap();
        assert!(result.as_json().as_str().contains("removed"), "{era:?}");
        assert!(!format!("{:?}", client.list_tools().unwrap()).contains("files:write"));
    }
}
