//! Capabilities for tasks: the member `tasks` in 2025-11-25, an extension in 2026-07-28.

use super::{ClientFeatures, ServerFeatures};
use crate::encode::{Encoder, object};
use crate::json::RawJson;
use crate::lifecycle::Revision;
use crate::types::meta::TASKS;

pub(super) fn of_client(declared: RawJson<'_>, revision: Revision) -> ClientFeatures {
    use ClientFeatures as C;
    let paths: [(&[&str], C); 5] = [
        (&["extensions", TASKS], C::TASKS),
        (&["tasks", "requests", "sampling", "createMessage"], C::TASKS_SAMPLING),
        (&["tasks", "requests", "elicitation", "create"], C::TASKS_ELICITATION),
        (&["tasks", "list"], C::TASKS_LIST),
        (&["tasks", "cancel"], C::TASKS_CANCEL),
    ];
    let known = paths.into_iter().filter(|(_, feature)| *feature == feature.known_in(revision));
    let found = known.filter(|(path, _)| has(declared, path));
    found.fold(C::NONE, |set, (_, feature)| set.with(feature))
}

pub(super) fn of_server(declared: RawJson<'_>, revision: Revision) -> ServerFeatures {
    use ServerFeatures as S;
    if revision.is_modern() {
        return if has(declared, &["extensions", TASKS]) { S::TASKS } else { S::NONE };
    }
    if !has(declared, &["tasks", "requests", "tools", "call"]) {
        return S::NONE;
    }
    let features = [("list", S::TASKS_LIST), ("cancel", S::TASKS_CANCEL)];
    let found = features.into_iter().filter(|(key, _)| has(declared, &["tasks", key]));
    found.fold(S::TASKS, |set, (_, feature)| set.with(feature))
}

pub(super) fn write_client(set: ClientFeatures, to: &mut Encoder<'_>) {
    use ClientFeatures as C;
    if !set.contains(C::TASKS_SAMPLING) && !set.contains(C::TASKS_ELICITATION) {
        return;
    }
    let has = |feature| set.contains(feature).then_some(RawJson::EMPTY);
    let sampling = object!({ "createMessage": RawJson::EMPTY });
    let elicitation = object!({ "create": RawJson::EMPTY });
    let requests = object!({
        "sampling"?: set.contains(C::TASKS_SAMPLING).then_some(&sampling),
        "elicitation"?: set.contains(C::TASKS_ELICITATION).then_some(&elicitation),
    });
    object!(@member to "tasks": object!({
        "list"?: has(C::TASKS_LIST),
        "cancel"?: has(C::TASKS_CANCEL),
        "requests": requests,
    }));
}

pub(super) fn write_server(set: ServerFeatures, to: &mut Encoder<'_>) {
    use ServerFeatures as S;
    if !set.contains(S::TASKS) {
        return;
    }
    let has = |feature| set.contains(feature).then_some(RawJson::EMPTY);
    let tools = object!({ "call": RawJson::EMPTY });
    let requests = object!({ "tools": tools });
    let tasks = object!({
        "list"?: has(S::TASKS_LIST),
        "cancel"?: has(S::TASKS_CANCEL),
        "requests": requests,
    });
    object!(@member to "tasks" only V2025_11_25: tasks);
}

/// Whether the members on this path are objects.
fn has(declared: RawJson<'_>, path: &[&str]) -> bool {
    let found = path.iter().try_fold(declared, |object, key| object.get(key));
    found.is_some_and(RawJson::is_object)
}
