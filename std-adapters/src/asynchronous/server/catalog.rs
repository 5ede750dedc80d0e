//! The catalog of an application, constant or shared.

use std::sync::Arc;

use mcp_sansio::{Catalog, OwnedCatalog, Target, TargetPlace};

use super::broadcast::Broadcaster;
use crate::SharedCatalog;

/// The catalog of an [`App`](super::App): made of a `&'static Catalog` or a `&SharedCatalog`.
#[derive(Clone, Debug)]
pub struct CatalogSource(Source);

#[derive(Clone, Debug)]
enum Source {
    Constant(&'static Catalog<'static>),
    Shared(SharedCatalog),
}

impl From<&'static Catalog<'static>> for CatalogSource {
    fn from(catalog: &'static Catalog<'static>) -> Self {
        Self(Source::Constant(catalog))
    }
}

impl From<&SharedCatalog> for CatalogSource {
    fn from(catalog: &SharedCatalog) -> Self {
        Self(Source::Shared(catalog.clone()))
    }
}

impl CatalogSource {
    /// Tells all connections of changes.
    pub(crate) fn announce(&self, broadcaster: &Broadcaster) {
        if let Source::Shared(catalog) = &self.0 {
            catalog.listen(broadcaster.listener());
        }
    }

    /// Returns whether an entry has scopes, now or later.
    #[cfg(feature = "http")]
    pub(crate) fn may_have_scopes(&self) -> bool {
        match &self.0 {
            Source::Constant(catalog) => catalog.has_scopes(),
            Source::Shared(_) => true,
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.0 {
            Source::Constant(catalog) => Snapshot::Constant(catalog),
            Source::Shared(catalog) => Snapshot::Owned(catalog.snapshot()),
        }
    }
}

/// The catalog of the moment in which a request arrived.
pub(crate) enum Snapshot {
    Constant(&'static Catalog<'static>),
    Owned(Arc<OwnedCatalog>),
}

impl Snapshot {
    pub(crate) fn catalog(&self) -> Catalog<'_> {
        match self {
            Self::Constant(catalog) => **catalog,
            Self::Owned(catalog) => catalog.catalog(),
        }
    }
}

/// The target of a request, with the catalog that has it.
pub(crate) struct Found {
    pub(crate) snapshot: Snapshot,
    place: TargetPlace,
}

impl Found {
    pub(crate) fn new(snapshot: Snapshot, place: TargetPlace) -> Self {
        Self { snapshot, place }
    }

    pub(crate) fn target(&self) -> Target<'_> {
        self.snapshot.catalog().target_at(self.place)
    }
}
