//! The catalog, in flash.

use mcp_sansio::types::{
    Implementation, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolAnnotations,
};
use mcp_sansio::{Catalog, Entry, RawJson, ServerConfig, ServerFeatures, entries};

use crate::file;
use crate::outputs::{ARGUMENTS, RESULT, output};

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

/// Tools, resources, templates and prompts.
pub static CATALOG: Catalog<'static> =
    Catalog::new().tools(TOOLS).resources(RESOURCES).templates(TEMPLATES).prompts(PROMPTS);

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

const NOTHING: RawJson<'static> =
    RawJson::from_static(r#"{"type":"object","additionalProperties":false}"#);
const READS: ToolAnnotations = ToolAnnotations::new().read_only_hint(true).open_world_hint(false);

static TOOLS: &[Entry<'static>] = entries![
    Tool::new(
        "measure",
        RawJson::from_static(
            r#"{"type":"object","properties":{"quantity":{"type":"string","enum":["temperature","acceleration_x","acceleration_y","acceleration_z"]}},"required":["quantity"],"additionalProperties":false}"#,
        ),
    )
    .title("Measure")
    .description("Reads a sensor: the temperature of the chip, or the acceleration along one of its axes")
    .output_schema(RawJson::from_static(
        r#"{"type":"object","properties":{"quantity":{"type":"string"},"value":{"type":"integer"},"unit":{"type":"string"}},"required":["quantity","value","unit"]}"#,
    ))
    .annotations(READS),
    Tool::new(
        "read_pin",
        RawJson::from_static(
            r#"{"type":"object","properties":{"number":{"type":"integer","minimum":0,"maximum":30}},"required":["number"],"additionalProperties":false}"#,
        ),
    )
    .title("Read a pin")
    .description("Reads whether a pin is high")
    .output_schema(RawJson::from_static(
        r#"{"type":"object","properties":{"number":{"type":"integer"},"high":{"type":"boolean"}},"required":["number","high"]}"#,
    ))
    .annotations(READS),
    Tool::new(
        "sweep",
        RawJson::from_static(
            r#"{"type":"object","properties":{"steps":{"type":"integer","minimum":1,"maximum":1000},"period":{"type":"integer","description":"Milliseconds between two steps","minimum":1,"maximum":60000,"default":100}},"required":["steps"],"additionalProperties":false}"#,
        ),
    )
    .title("Sweep")
    .description("Inverts one output after the other, and answers when it is done. Reports progress; can be cancelled.")
    .output_schema(RawJson::from_static(r#"{"type":"object","properties":{"steps":{"type":"integer"}},"required":["steps"]}"#))
    .annotations(ToolAnnotations::new().destructive_hint(false).open_world_hint(false)),
    Tool::new(
        "rename",
        RawJson::from_static(
            r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":24}},"required":["name"],"additionalProperties":false}"#,
        ),
    )
    .title("Rename")
    .description("Calls the board by another name, at most 24 bytes of UTF-8")
    .annotations(
        ToolAnnotations::new().destructive_hint(false).idempotent_hint(true).open_world_hint(false),
    ),
    Tool::new(
        "echo",
        RawJson::from_static(
            r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}"#,
        ),
    )
    .title("Echo")
    .description("Says what it is told, to try the line")
    .annotations(READS),
    Tool::new("line", NOTHING)
        .title("Line")
        .description("How good the line is: messages that could not be read, and errors of the receiver, since the board started")
        .output_schema(RawJson::from_static(
            r#"{"type":"object","properties":{"refused":{"type":"integer"},"faults":{"type":"integer"}},"required":["refused","faults"]}"#,
        ))
        .annotations(READS),
    Tool::new("stack", NOTHING)
        .title("Stack")
        .description("Memory that the stack has, and the most of it that was ever in use, in bytes")
        .output_schema(RawJson::from_static(
            r#"{"type":"object","properties":{"size":{"type":"integer"},"deepest":{"type":"integer"}},"required":["size","deepest"]}"#,
        ))
        .annotations(READS),
    Tool::new("uptime", NOTHING)
        .title("Uptime")
        .description("Milliseconds since the board started")
        .output_schema(RawJson::from_static(
            r#"{"type":"object","properties":{"milliseconds":{"type":"integer"}},"required":["milliseconds"]}"#,
        ))
        .annotations(READS),
    Tool::new("reset", NOTHING)
        .title("Reset")
        .description("Answers, and then starts the board again")
        .annotations(ToolAnnotations::new().destructive_hint(true).open_world_hint(false)),
    output!("00", "edge connector pin 3 by way of the analogue input 26"),
    output!("01", "edge connector, large pad 2"),
    output!("02", "edge connector, large pad 1"),
    output!("03", "edge connector, large pad 0"),
    output!("04", "column 1 of the lamps"),
    output!("05", "column 2 of the lamps"),
    output!("06", "column 3 of the lamps"),
    output!("07", "column 4 of the lamps"),
    output!("08", "column 5 of the lamps"),
    output!("09", "column 6 of the lamps"),
    output!("10", "column 7 of the lamps"),
    output!("11", "column 8 of the lamps"),
    output!("12", "column 9 of the lamps"),
    output!("13", "row 1 of the lamps"),
    output!("14", "row 2 of the lamps"),
    output!("15", "row 3 of the lamps"),
    output!("16", "edge connector pin 16"),
    output!("17", "button A"),
    output!("18", "edge connector pin 8"),
    output!("19", "reset line of the interface chip"),
    output!("20", "edge connector pin 12"),
    output!("21", "edge connector pin 15, data to a slave"),
    output!("22", "edge connector pin 14, data from a slave"),
    output!("23", "edge connector pin 13, clock of the slaves"),
    output!("24", "transmit line of the serial port, which has priority"),
    output!("25", "receive line of the serial port, which has priority"),
    output!("26", "button B"),
    output!("27", "interrupt line 2 of the accelerometer"),
    output!("28", "interrupt line 1 of the accelerometer"),
    output!("29", "interrupt line of the magnetometer"),
    output!("30", "data line of the sensors"),
];
