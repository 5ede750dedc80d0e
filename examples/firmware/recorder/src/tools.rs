//! The tools, and what they return.

use mcp_sansio::typed::{Output, Tools};
use mcp_sansio::types::{
    BooleanSchema, ElicitFormParams, Field, Implementation, RequestedSchema, TextResult,
};
use mcp_sansio::{Catalog, Encode, Encoder, RawJson, ServerConfig, ServerFeatures, ToolOutput};

use crate::PAGES;

pub(crate) static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("recorder", "1.0.0"),
    CATALOG.features().with(ServerFeatures::TASKS).with(ServerFeatures::TASKS_CANCEL),
)
.peer_can_reconnect(true);
pub(crate) static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

/// A call of a tool.
#[derive(Tools, Debug)]
pub(crate) enum Call {
    /// Counts the pages of the log that have records
    #[tool(read_only, returns = Used)]
    CountPages,
    /// Erases pages of the log, up to 20 in a second
    #[tool(idempotent, task, returns = Erased)]
    Erase {
        #[arg(range = 0..=LAST_PAGE)]
        first: u8,
        #[arg(range = 1..=PAGES)]
        count: u8,
        /// Erases without asking the person
        #[arg(default = false)]
        sure: bool,
    },
}

const LAST_PAGE: u8 = PAGES - 1;

#[derive(Output, Debug)]
pub(crate) struct Used {
    pub(crate) used: u8,
    pub(crate) pages: u8,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Erased {
    pages: u8,
}

/// How a call of `erase` has ended: its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pages: u8,
    pub(crate) is_faulty: bool,
}

impl End {
    pub(crate) const NONE: Self = Self::erased(0);

    pub(crate) const fn erased(pages: u8) -> Self {
        Self { pages, is_faulty: false }
    }

    /// A page has records after it was erased.
    pub(crate) const fn faulty(pages: u8) -> Self {
        Self { pages, is_faulty: true }
    }
}

impl Encode for End {
    fn encode(&self, to: &mut Encoder<'_>) {
        if self.is_faulty {
            return TextResult::error("The flash is worn out").encode(to);
        }
        ToolOutput::Structured(Erased { pages: self.pages }).encode(to);
    }
}

pub(crate) const QUESTION: ElicitFormParams<'static> = ElicitFormParams::new(
    "Erase pages of the log? What is recorded there is lost.",
    RequestedSchema::new(&[Field::required("erase", BooleanSchema::new().schema())]),
);

/// Returns whether the person agreed.
pub(crate) fn agrees(response: RawJson<'_>) -> bool {
    let erase = response.get("content").and_then(|content| content.get("erase"));
    erase.and_then(RawJson::as_bool) == Some(true)
}
