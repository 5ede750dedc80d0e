//! The catalog of an application, and one that changes while servers run.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use mcp_sansio::{AddError, Catalog, OwnedCatalog};

use crate::lock::lock;

/// A catalog that the program changes while servers run, from any thread. Its clones are the same
/// catalog.
///
#[cfg_attr(feature = "blocking", doc = "```")]
#[cfg_attr(not(feature = "blocking"), doc = "```ignore")]
/// # use mcp_sansio::types::{Implementation, TextResult, Tool};
/// # use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures};
/// # use mcp_sansio_adapters::{SharedCatalog, blocking::App};
/// const FEATURES: ServerFeatures = ServerFeatures::TOOLS_LIST_CHANGED;
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("plugins", "0.1.0"), FEATURES);
///
/// let catalog = SharedCatalog::new(&Catalog::new());
/// let app = App::new(&CONFIG).catalog(&catalog);
/// // Later, from any thread or from a handler:
/// let schema = RawJson::parse(r#"{"type":"object"}"#)?;
/// catalog.update(|tools| {
///     tools.remove_tool("old");
///     tools.add(Tool::new("new", schema).description("Was added"))
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Each client that listens is told which lists have changed, if the configuration declares it:
/// [`TOOLS_LIST_CHANGED`], [`RESOURCES_LIST_CHANGED`], [`PROMPTS_LIST_CHANGED`]. A request is
/// responded to from the catalog that there is when it is read: a call that runs goes on although
/// its tool is removed, and later ones are refused. The next page of a list that has changed is
/// refused: see [`OwnedCatalog`].
///
/// [`TOOLS_LIST_CHANGED`]: mcp_sansio::ServerFeatures::TOOLS_LIST_CHANGED
/// [`RESOURCES_LIST_CHANGED`]: mcp_sansio::ServerFeatures::RESOURCES_LIST_CHANGED
/// [`PROMPTS_LIST_CHANGED`]: mcp_sansio::ServerFeatures::PROMPTS_LIST_CHANGED
#[derive(Clone)]
pub struct SharedCatalog(Arc<Inner>);

struct Inner {
    current: Mutex<Arc<OwnedCatalog>>,
    /// Locked while the catalog is changed.
    listeners: Mutex<Vec<Weak<dyn Listener>>>,
}

/// A receiver of changes, which tells clients of them.
pub(crate) trait Listener: Send + Sync {
    fn changed(&self, before: &Arc<OwnedCatalog>, after: &OwnedCatalog);
}

impl SharedCatalog {
    /// Creates a catalog that begins with these entries.
    #[must_use]
    pub fn new(catalog: &Catalog<'static>) -> Self {
        let current = Arc::new(OwnedCatalog::new(catalog));
        Self(Arc::new(Inner { current: Mutex::new(current), listeners: Mutex::default() }))
    }

    /// Changes the catalog, and tells the clients of the lists that have changed. Requests are
    /// responded to from the old one until `update` has returned; other updates wait, so it must
    /// not update this catalog itself. It takes time in proportion to the size of the catalog.
    ///
    /// # Errors
    /// The error that `update` returns. Then nothing has changed.
    pub fn update<R>(
        &self,
        update: impl FnOnce(&mut OwnedCatalog) -> Result<R, AddError>,
    ) -> Result<R, AddError> {
        let mut listeners = lock(&self.0.listeners);
        let before = self.snapshot();
        let mut after = OwnedCatalog::clone(&before);
        let updated = update(&mut after)?;
        let after = Arc::new(after);
        *lock(&self.0.current) = Arc::clone(&after);
        listeners.retain(|listener| listener.strong_count() > 0);
        let told: Vec<_> = listeners.iter().filter_map(Weak::upgrade).collect();
        drop(listeners);
        told.iter().for_each(|listener| listener.changed(&before, &after));
        Ok(updated)
    }

    /// Returns the catalog as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<OwnedCatalog> {
        Arc::clone(&lock(&self.0.current))
    }

    /// Tells the listener of all changes from now on, until it is dropped.
    pub(crate) fn listen(&self, listener: Weak<dyn Listener>) {
        lock(&self.0.listeners).push(listener);
    }
}

/// The catalog of an application: made of a `&Catalog` or a `&SharedCatalog`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CatalogSource<'c> {
    /// A catalog that does not change.
    Constant(&'c Catalog<'c>),
    /// A catalog that changes while the application runs.
    Shared(SharedCatalog),
}

impl<'c> CatalogSource<'c> {
    pub(crate) fn snapshot(&self) -> Snapshot<'c> {
        let current = match self {
            Self::Constant(catalog) => Current::Constant(catalog),
            Self::Shared(catalog) => Current::Owned(catalog.snapshot()),
        };
        Snapshot { current, is_chosen: false }
    }
}

/// The catalog of the moment in which a request has arrived.
pub(crate) struct Snapshot<'c> {
    current: Current<'c>,
    /// Whether it was chosen for a principal.
    pub(crate) is_chosen: bool,
}

enum Current<'c> {
    Constant(&'c Catalog<'c>),
    Owned(Arc<OwnedCatalog>),
}

impl Snapshot<'_> {
    pub(crate) fn catalog(&self) -> Catalog<'_> {
        let catalog = match &self.current {
            Current::Constant(catalog) => **catalog,
            Current::Owned(catalog) => catalog.catalog(),
        };
        if self.is_chosen { catalog.private() } else { catalog }
    }
}

impl<'c> From<&'c Catalog<'c>> for CatalogSource<'c> {
    fn from(catalog: &'c Catalog<'c>) -> Self {
        Self::Constant(catalog)
    }
}

impl From<&SharedCatalog> for CatalogSource<'_> {
    fn from(catalog: &SharedCatalog) -> Self {
        Self::Shared(catalog.clone())
    }
}

impl fmt::Debug for SharedCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedCatalog").field(&self.snapshot()).finish()
    }
}
