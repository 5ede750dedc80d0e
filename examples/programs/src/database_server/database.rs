//! A database in memory. It understands
//! `SELECT columns FROM tables [WHERE column = value]`, where a value is a number or `'text'`.

use std::sync::Arc;

use mcp_sansio::Json;
use mcp_sansio::typed::Output;
use serde::Serialize;

/// Tables of two kinds: small ones, and one that is large enough for slow queries.
///
/// Clones are of the same database.
#[derive(Clone)]
pub(super) struct Database {
    tables: Arc<[Table]>,
}

struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Vec<Value>>,
}

/// A value in a row.
#[derive(Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

#[derive(Output)]
pub(super) struct Found {
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Json<Vec<Value>>>,
    /// Whether there are more rows than the limit
    pub(super) truncated: bool,
}

/// Combinations of rows that are looked at between two reports.
const STEP: u64 = 1_000_000;

impl Database {
    /// Creates the tables.
    pub(super) fn sample() -> Self {
        let text = |text: &str| Value::Text(text.to_owned());
        let cities = [("Oslo", 717_710), ("Bergen", 291_940), ("Paris", 2_102_650)];
        let cities = cities.map(|(city, people)| vec![text(city), Value::Number(people)]);
        let readings = (0..1000).map(|at| vec![Value::Number(at), Value::Number(at * at % 97)]);
        let table = |name, columns, rows| Table { name, columns, rows };
        Self {
            tables: Arc::new([
                table("cities", &["city", "people"], cities.to_vec()),
                table("readings", &["at", "celsius"], readings.collect()),
            ]),
        }
    }

    /// Returns the names of the tables.
    pub(super) fn tables(&self) -> Vec<&'static str> {
        self.tables.iter().map(|table| table.name).collect()
    }

    /// Returns the names of the columns of a table.
    pub(super) fn columns(&self, table: &str) -> Option<Vec<&'static str>> {
        self.table(table).map(|table| table.columns.to_vec())
    }

    /// Returns all rows of a table.
    pub(super) fn rows(&self, table: &str) -> Option<&[Vec<Value>]> {
        self.table(table).map(|table| table.rows.as_slice())
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Returns at most `limit` rows. Calls `goes_on` now and then with the number of combinations
    /// that were looked at, and ends early if it returns `false`.
    pub(super) fn select(
        &self,
        sql: &str,
        limit: usize,
        goes_on: impl Fn(u64) -> bool,
    ) -> Result<Found, String> {
        let no_select = || "Only SELECT columns FROM tables [WHERE column = value]".to_owned();
        let rest = sql.trim().strip_prefix("SELECT ").ok_or_else(no_select)?;
        let (selected, rest) = rest.split_once(" FROM ").ok_or_else(no_select)?;
        let (names, condition) = match rest.split_once(" WHERE ") {
            Some((names, condition)) => (names, Some(condition)),
            None => (rest, None),
        };
        let tables = names.split(',').map(|name| {
            self.table(name.trim()).ok_or_else(|| format!("There is no table {name:?}"))
        });
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        let all: Vec<_> = tables.iter().flat_map(|table| table.columns).copied().collect();
        let column = |name: &str| {
            let is_it = |column: &&str| *column == name.trim();
            all.iter().position(is_it).ok_or_else(|| format!("There is no column {name:?}"))
        };
        let selected = match selected.trim() {
            "*" => (0..all.len()).collect(),
            names => names.split(',').map(column).collect::<Result<Vec<_>, _>>()?,
        };
        let condition = match condition.map(|text| text.split_once('=').ok_or_else(no_select)) {
            Some(parts) => {
                let (name, value) = parts?;
                Some((column(name)?, Value::parse(value.trim()).ok_or_else(no_select)?))
            }
            None => None,
        };
        let columns = selected.iter().map(|at| all[*at]).collect();
        let mut found = Found { columns, rows: Vec::new(), truncated: false };
        for at in 0..combinations(&tables) {
            if at % STEP == STEP - 1 && !goes_on(at) {
                return Err("The query was stopped".to_owned());
            }
            let row = combination(&tables, at);
            if condition.as_ref().is_some_and(|(column, value)| row[*column] != value) {
                continue;
            }
            if found.rows.len() == limit {
                found.truncated = true;
                break;
            }
            found.rows.push(Json(selected.iter().map(|at| row[*at].clone()).collect()));
        }
        Ok(found)
    }
}

impl Value {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(text) => Some(Self::Text(text.to_owned())),
            None => text.parse().ok().map(Self::Number),
        }
    }
}

/// Returns the number of combinations of one row of each table.
fn combinations(tables: &[&Table]) -> u64 {
    tables.iter().fold(1, |all, table| all.saturating_mul(table.rows.len() as u64))
}

/// Returns the values of one combination.
fn combination<'a>(tables: &[&'a Table], mut at: u64) -> Vec<&'a Value> {
    let mut row = Vec::new();
    for table in tables {
        let count = table.rows.len() as u64;
        row.extend(&table.rows[(at % count) as usize]);
        at /= count;
    }
    row
}
