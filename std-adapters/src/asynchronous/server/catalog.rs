//! The catalog of the moment in which a request arrives.

use std::sync::Arc;

use mcp_sansio::{Catalog, OwnedCatalog, Target, TargetPlace};

use crate::CatalogSource;

impl CatalogSource<'static> {
    /// Returns whether an entry has scopes, now or later.
    #[cfg(feature = "http")]
    pub(crate) fn may_have_scopes(&self) -> bool {
        match self {
            Self::Constant(catalog) => catalog.has_scopes(),
            Self::Shared(_) => true,
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Constant(catalog) => Snapshot::Constant(catalog),
            Self::Shared(catalog) => Snapshot::Owned(catalog.snapshot()),
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
