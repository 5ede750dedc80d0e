//! The catalog, in flash.

use mcp_sansio::types::{Implementation, Prompt, PromptArgument, Resource, ResourceTemplate};
use mcp_sansio::{Catalog, Entry, ServerConfig, ServerFeatures, entries};

use crate::file;
use crate::tools::Call;

/// Configuration of the server.
pub static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("board", "1.0.0").title("A microcontroller"),
    ServerFeatures::TOOLS
        .with(ServerFeatures::RESOURCES)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::PROMPTS)
        .with(ServerFeatures::COMPLETIONS)
        .with(ServerFeatures::LOGGING),
)
.instructions("A microcontroller with 31 outputs, 31 pins and a few sensors. Slow tools report progress and can be cancelled.")
.peer_can_reconnect(true);

/// Tools, resources, templates and prompts. The arguments of tools are checked when they are read.
pub static CATALOG: Catalog<'static> = Catalog::new()
    .tools_of::<Call<'_>>()
    .checked_when_read()
    .resources(RESOURCES)
    .templates(TEMPLATES)
    .prompts(PROMPTS);

pub(crate) const NAME: &str = "board://name";
pub(crate) const OUTPUT_STATES: &str = "board://outputs";
pub(crate) const REGISTERS: &str = "board://registers";
pub(crate) const FILE: &str = "board://file";

/// Values of the prompt's argument, for completion.
pub(crate) static PARTS: [&str; 5] = ["clock", "outputs", "pins", "sensors", "serial line"];
/// Values of the template's variable, for completion.
pub(crate) static PIN_NUMBERS: [&str; 31] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
    "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30",
];

static RESOURCES: &[Entry<'static>] = entries![
    Resource::new(NAME, "name")
        .title("Name")
        .description("What the board is called")
        .mime_type("text/plain"),
    Resource::new(OUTPUT_STATES, "outputs")
        .title("Outputs")
        .description(
            "Which outputs are on, one bit each. Subscribe to be told when one is switched.",
        )
        .mime_type("application/json"),
    Resource::new(REGISTERS, "registers")
        .title("Registers")
        .description("Registers of the processor's peripherals as they are now")
        .mime_type("application/json"),
    Resource::new(FILE, "file")
        .title("File")
        .description("A file in flash, longer than all of the memory that it is sent from")
        .mime_type("application/octet-stream")
        .size(file::LEN as u64),
];

static TEMPLATES: &[Entry<'static>] = entries![
    ResourceTemplate::new("board://pins/{number}", "pin")
        .title("Pin")
        .description("Whether a pin, 0 to 30, is high")
        .mime_type("application/json")
];

static PROMPTS: &[Entry<'static>] = entries![
    Prompt::new("explain")
        .title("Explain")
        .description("Asks for an explanation of a part of the board")
        .arguments(&[PromptArgument::new("part")
            .title("Part")
            .description("Which part")
            .required(true)])
];
