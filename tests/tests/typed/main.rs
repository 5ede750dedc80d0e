//! Types that are read from JSON: `mcp_sansio::typed`.

mod agreement;
mod compile;
mod faults;
mod schema;
mod values;
mod zoo;
