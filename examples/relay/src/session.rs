//! The state of a legacy session, to be restored on a server that was reset.

use mcp_sansio::RawJson;

use super::lines;

#[derive(Debug, Default)]
pub(crate) struct Session(Option<Open>);

#[derive(Debug)]
struct Open {
    /// The params of `initialize`.
    params: String,
    version: String,
    /// The lists with `listChanged` in the server's capabilities.
    lists: Vec<&'static str>,
    /// Whether the client has sent `notifications/initialized`.
    ready: bool,
    /// The params of `logging/setLevel`.
    level: Option<String>,
    /// The URIs, as JSON. Those beyond [`MAX_SUBSCRIPTIONS`] are lost when the server is reset.
    subscriptions: Vec<String>,
}

impl Session {
    pub(crate) fn open(&mut self, params: String, result: RawJson<'_>) {
        let lists = LISTS.into_iter().filter(|list| {
            let declared = result
                .get("capabilities")
                .and_then(|all| all.get(list))
                .and_then(|one| one.get("listChanged"));
            declared.and_then(RawJson::as_bool) == Some(true)
        });
        let lists = lists.collect();
        let version = version(result);
        self.0 = Some(Open {
            params,
            version,
            lists,
            ready: false,
            level: None,
            subscriptions: Vec::new(),
        });
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn initialize_params(&self) -> Option<String> {
        self.0.as_ref().map(|open| open.params.clone())
    }

    pub(crate) fn initialized(&mut self) {
        if let Some(open) = &mut self.0 {
            open.ready = true;
        }
    }

    pub(crate) fn set_level(&mut self, params: String) {
        if let Some(open) = &mut self.0 {
            open.level = Some(params);
        }
    }

    pub(crate) fn subscribe(&mut self, uri: String) {
        if let Some(open) = &mut self.0
            && open.subscriptions.len() < MAX_SUBSCRIPTIONS
            && !open.subscriptions.contains(&uri)
        {
            open.subscriptions.push(uri);
        }
    }

    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        if let Some(open) = &mut self.0 {
            open.subscriptions.retain(|other| other != uri);
        }
    }

    /// Returns the difference between the client's session and the server's new one.
    pub(crate) fn difference(&self, result: RawJson<'_>) -> Option<String> {
        let open = self.0.as_ref()?;
        let now = version(result);
        (now != open.version).then(|| {
            format!("the server speaks version {now} now, and its client goes on with {}: restart the client", open.version)
        })
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.0.as_ref().is_some_and(|open| open.ready)
    }

    /// Returns the methods and params that restore the session on the server.
    pub(crate) fn requests(&self) -> Vec<(&'static str, String)> {
        let Some(open) = &self.0 else { return Vec::new() };
        let level = open.level.iter().map(|params| ("logging/setLevel", params.clone()));
        let subscriptions = open
            .subscriptions
            .iter()
            .map(|uri| ("resources/subscribe", format!(r#"{{"uri":{uri}}}"#)));
        level.chain(subscriptions).collect()
    }

    /// Returns the notifications of changes that a reset may imply, since the firmware may be a new
    /// one.
    pub(crate) fn changes(&self) -> Vec<String> {
        let Some(open) = self.0.as_ref().filter(|open| open.ready) else { return Vec::new() };
        let lists = open.lists.iter().map(|list| lines::list_changed(list, None));
        let resources = open.subscriptions.iter();
        let resources =
            resources.map(|uri| lines::resource_updated(&format!(r#"{{"uri":{uri}}}"#)));
        lists.chain(resources).collect()
    }
}

/// The lists that may change.
pub(crate) const LISTS: [&str; 3] = ["tools", "prompts", "resources"];
/// Maximum number of subscriptions that are restored after a reset.
const MAX_SUBSCRIPTIONS: usize = 1024;

fn version(result: RawJson<'_>) -> String {
    result
        .get("protocolVersion")
        .and_then(RawJson::as_string)
        .map(|version| version.to_string())
        .unwrap_or_default()
}
