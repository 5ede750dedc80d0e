//! The scopes that operations take, compared with those that were granted.

use std::sync::Arc;

use mcp_sansio::http::site::{Operation, Operations, Principal};

use super::super::catalog::CatalogSource;
use super::challenge::AuthorizationError;

/// The rules for scopes of an application.
#[derive(Default)]
pub(super) struct Scopes {
    pub(super) of: Option<Box<ScopesOf>>,
    pub(super) implies: Option<Box<Implies>>,
}

/// Returns the scopes that an operation takes.
pub(super) type ScopesOf = dyn Fn(&Operation<'_>) -> &'static str + Send + Sync;
/// Returns whether a granted scope contains a wanted one.
pub(super) type Implies = dyn Fn(&str, &str) -> bool + Send + Sync;

impl Scopes {
    /// Returns whether any operation may take scopes.
    pub(super) fn are_set(&self, catalog: Option<&CatalogSource>) -> bool {
        self.of.is_some() || catalog.is_some_and(CatalogSource::may_have_scopes)
    }

    /// Checks the requests of a body.
    ///
    /// # Errors
    /// A scope is missing. The error names all scopes that the requests take, in the order of the
    /// requests, also those that were granted.
    pub(super) fn check(
        &self,
        catalog: Option<&CatalogSource>,
        principal: Option<&Arc<Principal>>,
        operations: Operations<'_>,
    ) -> Result<(), AuthorizationError> {
        let Some(principal) = principal else { return Ok(()) };
        let snapshot = catalog.map(CatalogSource::snapshot);
        let catalog = snapshot.as_ref().map(|snapshot| snapshot.catalog());
        let each_of = |operations: Operations<'_>, each: &mut dyn FnMut(&str)| {
            let mut each = |scopes: &str| {
                scopes.split(' ').filter(|scope| !scope.is_empty()).for_each(&mut *each);
            };
            for operation in operations {
                if let Some(catalog) = &catalog {
                    catalog.scopes_of(&operation, &mut each);
                }
                if let Some(of) = &self.of {
                    each(of(&operation));
                }
            }
        };
        let (again, mut is_missing) = (operations.again(), false);
        each_of(operations, &mut |scope| is_missing |= !self.is_granted(principal, scope));
        if !is_missing {
            return Ok(());
        }
        let mut wanted = Vec::<String>::new();
        each_of(again, &mut |scope| {
            if !wanted.iter().any(|wanted| wanted == scope) {
                wanted.push(scope.to_owned());
            }
        });
        Err(AuthorizationError::insufficient_scope(wanted.join(" ")).description(DESCRIPTION))
    }

    fn is_granted(&self, principal: &Principal, wanted: &str) -> bool {
        principal.scopes.split(' ').any(|granted| {
            granted == wanted || self.implies.as_ref().is_some_and(|it| it(granted, wanted))
        })
    }
}

const DESCRIPTION: &str = "The operation takes scopes that the token does not have";
