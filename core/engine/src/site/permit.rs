//! The scopes that operations take, compared with those that were granted.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mcp_sansio::Catalog;
use mcp_sansio::http::Operation;

use super::Principal;
use super::challenge::AuthorizationError;
use super::principal::Unpermitted;

/// The rules for scopes of an application, beside those of its [catalog](Catalog::scopes_of).
#[derive(Clone, Default)]
pub struct Scopes {
    /// Returns the scopes that an operation takes, separated by spaces.
    pub of: Option<Arc<ScopesOf>>,
    /// Returns whether a granted scope contains a wanted one. Default: each contains itself only.
    pub implies: Option<Arc<Implies>>,
}

type ScopesOf = dyn Fn(&Operation<'_>) -> &'static str + Send + Sync;
type Implies = dyn Fn(&str, &str) -> bool + Send + Sync;

impl Scopes {
    /// Checks the requests of a body, of which [`SiteStep::Permit`](super::SiteStep::Permit)
    /// reports. A request without a principal is permitted. Each text of scopes is compared once,
    /// however many requests take it.
    ///
    /// # Errors
    /// A scope is missing. The error names all scopes that the requests take, in the order of the
    /// requests, also those that were granted.
    pub fn check(
        &self,
        catalog: Option<&Catalog<'_>>,
        unpermitted: &Unpermitted,
    ) -> Result<(), AuthorizationError> {
        let Some(principal) = unpermitted.principal() else { return Ok(()) };
        let mut granted = Granted::new(&principal.scopes);
        // The texts of scopes, also in their order.
        let (mut seen, mut wanted) = (BTreeSet::<Arc<str>>::new(), Vec::new());
        let mut is_missing = false;
        let mut each = |text: &str| {
            if text.is_empty() || seen.contains(text) {
                return;
            }
            is_missing =
                is_missing || !scopes_in(text).all(|scope| self.is_granted(&mut granted, scope));
            wanted.push(Arc::from(text));
            seen.extend(wanted.last().cloned());
        };
        for operation in unpermitted.operations() {
            if let Some(catalog) = catalog {
                catalog.scopes_of(&operation, &mut each);
            }
            if let Some(of) = &self.of {
                each(of(&operation));
            }
        }
        if !is_missing {
            return Ok(());
        }
        let mut named = BTreeSet::new();
        let scopes = wanted.iter().flat_map(|text| scopes_in(text));
        let scopes: Vec<_> = scopes.filter(|scope| named.insert(*scope)).collect();
        Err(AuthorizationError::insufficient_scope(scopes.join(" ")).description(DESCRIPTION))
    }

    /// Returns those of the scopes in a catalog that a principal has, as they stand at its entries:
    /// for [`Catalog::permitting`].
    pub fn granted(&self, catalog: &Catalog<'_>, principal: &Principal) -> BTreeSet<String> {
        let mut granted = Granted::new(&principal.scopes);
        let (mut all, mut refused) = (BTreeSet::new(), BTreeSet::new());
        catalog.each_scopes(&mut |text| {
            if all.contains(text) || refused.contains(text) {
                return;
            }
            let is_granted = scopes_in(text).all(|scope| self.is_granted(&mut granted, scope));
            let set = if is_granted { &mut all } else { &mut refused };
            set.insert(text.to_owned());
        });
        all
    }

    /// Returns those of these scopes, separated by spaces, that a principal does not have.
    pub fn missing(&self, scopes: &str, principal: &Principal) -> String {
        let mut granted = Granted::new(&principal.scopes);
        let is_missing = |scope: &&str| !self.is_granted(&mut granted, scope);
        scopes_in(scopes).filter(is_missing).collect::<Vec<_>>().join(" ")
    }

    fn is_granted(&self, granted: &mut Granted<'_>, wanted: &str) -> bool {
        granted.contains(wanted)
            || self.implies.as_ref().is_some_and(|implies| {
                scopes_in(granted.text).any(|granted| implies(granted, wanted))
            })
    }
}

mcp_sansio::opaque_debug!(Scopes {});

/// The scopes of a principal.
struct Granted<'p> {
    text: &'p str,
    /// Number of scopes that were searched for.
    searched: usize,
    /// Made when many are.
    set: BTreeSet<&'p str>,
}

impl<'p> Granted<'p> {
    fn new(text: &'p str) -> Self {
        Self { text, searched: 0, set: BTreeSet::new() }
    }

    fn contains(&mut self, scope: &str) -> bool {
        self.searched += 1;
        match self.searched {
            ..FEW => return scopes_in(self.text).any(|granted| granted == scope),
            FEW => self.set.extend(scopes_in(self.text)),
            _ => {}
        }
        self.set.contains(scope)
    }
}

fn scopes_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|scope| !scope.is_empty())
}

const DESCRIPTION: &str = "The operation takes scopes that the token does not have";
/// Number of searches from which on a set of the granted scopes is worth its memory.
const FEW: usize = 8;
