//! `notes-server`: keeps notes. The tutorial in `docs/tutorial` builds it, page by page.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Input, Output, Prompts, Tools};
use mcp_sansio::types::{Implementation, InputRequest, ResourceTemplate};
use mcp_sansio::{
    Catalog, NoOutput, OrToolError as _, Progress, ServerConfig, ServerFeatures, Target,
    ToolContext, ToolOutput, ToolResult, entries,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use mcp_sansio_adapters::observer::StderrObserver;

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("notes", "0.1.0"),
    CATALOG.features().with(ServerFeatures::COMPLETIONS),
);
static CATALOG: Catalog = Catalog::new()
    .tools_of::<Call>()
    .prompts_of::<Ask>()
    .templates(entries![ResourceTemplate::new("note://{number}", "note").mime_type("text/plain")]);

#[derive(Tools)]
enum Call {
    /// Adds a note.
    #[tool(destructive = false, returns = Added)]
    Add {
        /// One line of text
        #[arg(length = 1..=80)]
        text: String,
        #[arg(default = Priority::Normal)]
        priority: Priority,
    },
    /// Finds the notes that contain a word.
    #[tool(read_only, returns = Found)]
    Find {
        word: String,
        /// Maximum number of notes
        #[arg(range = 1..=100, default = 10)]
        limit: usize,
    },
    /// Writes each note to a file.
    Archive { folder: String },
    /// Deletes all notes, if the user agrees.
    #[tool(destructive)]
    Clear,
}

#[derive(Input, Output, Clone, Copy)]
enum Priority {
    Normal,
    Urgent,
}

#[derive(Output)]
struct Added {
    /// Number of the note, from 0
    number: usize,
}

#[derive(Output)]
struct Found {
    notes: Vec<Note>,
}

#[derive(Output, Clone)]
struct Note {
    text: String,
    priority: Priority,
}

#[derive(Input)]
struct Agreement {
    /// Delete all notes
    agreed: bool,
}

#[derive(Prompts)]
enum Ask {
    /// Asks for a summary of a note.
    Summarize { number: String },
}

#[derive(Default)]
struct Notes(RefCell<Vec<Note>>);

impl AsyncToolHandler for Notes {
    type Tools = Call;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Add { text, priority } => {
                let mut notes = self.0.borrow_mut();
                if notes.len() == 1000 {
                    return Err("There is no room for more than 1000 notes".into());
                }
                notes.push(Note { text, priority });
                Ok(ToolOutput::boxed(Added { number: notes.len() - 1 }))
            }
            Call::Find { word, limit } => {
                let all = self.0.borrow();
                let found = all.iter().filter(|note| note.text.contains(&word));
                Ok(ToolOutput::boxed(Found { notes: found.take(limit).cloned().collect() }))
            }
            Call::Archive { folder } => {
                let notes = self.0.borrow().clone();
                let total = u32::try_from(notes.len()).or_internal()?;
                for (number, note) in (1..).zip(notes) {
                    std::fs::write(format!("{folder}/note{number}"), note.text).or_tool()?;
                    ctx.progress(&Progress::of(number).total(total)).await?;
                    smol::Timer::after(Duration::from_millis(100)).await; // a slow disk
                }
                Ok("All notes are archived".into())
            }
            Call::Clear => {
                let form = InputRequest::form::<Agreement>("May all notes be deleted?");
                let response = ctx.request_input("agreement", form).await?;
                let Some(Agreement { agreed: true }) = response.to_form()? else {
                    return Ok("The user wants to keep the notes".into());
                };
                self.0.borrow_mut().clear();
                Ok("All notes are deleted".into())
            }
        }
    }
}

async fn handle(ctx: Context, notes: &Notes) -> HandlerResult {
    match ctx.target() {
        Target::Tool(_) => ctx.call_async_tool(notes).await,
        Target::Template(_) => {
            let (number, notes) = (ctx.variable("number").parse::<usize>(), notes.0.borrow());
            let note = number.ok().and_then(|number| notes.get(number));
            ctx.text(&note.ok_or_else(|| ctx.resource_not_found())?.text)
        }
        Target::Prompt(_) => {
            let Ask::Summarize { number } = ctx.prompt()?;
            ctx.text(&format!("Read note://{number} and summarize it"))
        }
        _ => ctx.complete(|_| (0..notes.0.borrow().len()).map(|number| number.to_string())),
    }
}

fn main() -> std::io::Result<()> {
    let notes = Notes::default();
    let app = App::new(&CONFIG, |ctx| handle(ctx, &notes)).catalog(&CATALOG);
    smol::block_on(app.observer(StderrObserver::new()).serve_stdio()) // clients keep it as the log
}
