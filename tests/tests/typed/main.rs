//! Types that are read from JSON and written as JSON: `mcp_sansio::typed`.

mod agreement;
mod compile;
mod faults;
mod forms;
mod handlers;
mod outputs;
mod prompts;
mod schema;
mod tools;
mod values;
mod zoo;
