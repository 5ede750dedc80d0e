//! The catalog of the moment in which a request arrives.

use std::sync::Arc;

use mcp_sansio::{Catalog, OwnedCatalog, Target, TargetPlace};
use mcp_sansio_engine::site::Principal;

use super::app::Settings;
use super::context::{Origin, principal_of};
use crate::CatalogSource;

/// Chooses the catalog of a principal.
pub(crate) type CatalogOf = dyn Fn(&Principal) -> CatalogSource<'static> + Send + Sync;

impl Settings {
    /// Returns whether an entry of a catalog has scopes, now or later.
    pub(crate) fn may_have_scopes(&self) -> bool {
        self.catalog_of.is_some()
            || match &self.catalog {
                Some(CatalogSource::Constant(catalog)) => catalog.has_scopes(),
                Some(CatalogSource::Shared(_)) => true,
                None => false,
            }
    }

    /// Returns the catalog for requests of this principal, which the application may choose.
    pub(crate) fn snapshot_for(&self, principal: Option<&Principal>) -> Option<Snapshot> {
        match (principal, &self.catalog_of) {
            (Some(principal), Some(choose)) => {
                Some(Snapshot { is_chosen: true, ..choose(principal).snapshot() })
            }
            _ => self.catalog.as_ref().map(CatalogSource::snapshot),
        }
    }

    /// Returns the catalog for a request.
    pub(crate) fn snapshot_of(&self, origin: &Origin) -> Option<Snapshot> {
        self.snapshot_for(principal_of(origin))
    }
}

impl CatalogSource<'static> {
    fn snapshot(&self) -> Snapshot {
        let current = match self {
            Self::Constant(catalog) => Current::Constant(catalog),
            Self::Shared(catalog) => Current::Owned(catalog.snapshot()),
        };
        Snapshot { current, is_chosen: false }
    }
}

/// The catalog of the moment in which a request arrived.
pub(crate) struct Snapshot {
    current: Current,
    /// Whether it was chosen for a principal.
    is_chosen: bool,
}

enum Current {
    Constant(&'static Catalog<'static>),
    Owned(Arc<OwnedCatalog>),
}

impl Snapshot {
    pub(crate) fn catalog(&self) -> Catalog<'_> {
        let catalog = match &self.current {
            Current::Constant(catalog) => **catalog,
            Current::Owned(catalog) => catalog.catalog(),
        };
        if self.is_chosen { catalog.private() } else { catalog }
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
