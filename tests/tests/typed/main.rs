//! Types that are read from JSON: `mcp_sansio::typed`.

mod agreement;
mod compile;
mod faults;
mod schema;
mod tools;
mod values;
mod zoo;
