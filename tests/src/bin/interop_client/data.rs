//! Data that all reference servers share.

use std::sync::LazyLock;

use serde_json::Value;

pub(crate) static OFFER: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../interop/servers/offer.json"))
        .expect("the offer is JSON")
});

/// Returns one member of each entry.
pub(crate) fn each(list: &Value, member: &str) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|entry| entry[member].as_str().unwrap_or("").to_owned())
        .collect()
}
