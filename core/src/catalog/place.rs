//! The place of an entry, for tasks that cannot borrow it.

use super::{Catalog, Entry, Target};

/// The target of a request, as the place of the entry in its catalog: for tasks that own the
/// catalog, such as an [`OwnedCatalog`](super::OwnedCatalog), and so cannot keep a [`Target`].
#[derive(Clone, Copy, Debug)]
pub struct TargetPlace(Place);

#[derive(Clone, Copy, Debug)]
enum Place {
    Entry { list: usize, at: usize, target: ToTarget },
    Responded,
    Other,
}

type ToTarget = for<'c> fn(&'c Entry<'c>) -> Target<'c>;

impl<'c> Catalog<'c> {
    /// Returns the place of a target that this catalog has returned.
    #[must_use]
    pub fn place_of(&self, target: &Target<'_>) -> TargetPlace {
        let (entry, target): (_, ToTarget) = match target {
            Target::Tool(entry) => (entry, |entry| Target::Tool(entry)),
            Target::InvalidArguments(entry) => (entry, |entry| Target::InvalidArguments(entry)),
            Target::Prompt(entry) => (entry, |entry| Target::Prompt(entry)),
            Target::Resource(entry) => (entry, |entry| Target::Resource(entry)),
            Target::Template(entry) => (entry, |entry| Target::Template(entry)),
            Target::CompletePrompt(entry) => (entry, |entry| Target::CompletePrompt(entry)),
            Target::CompleteTemplate(entry) => (entry, |entry| Target::CompleteTemplate(entry)),
            Target::Responded => return TargetPlace(Place::Responded),
            Target::Other => return TargetPlace(Place::Other),
        };
        let list = entry.list();
        let at = self.list(list).iter().position(|other| core::ptr::eq(other, *entry));
        TargetPlace(at.map_or(Place::Other, |at| Place::Entry { list, at, target }))
    }

    /// Returns the target at a place that [`place_of`](Self::place_of) of the same catalog has
    /// returned.
    #[must_use]
    pub fn target_at(&self, place: TargetPlace) -> Target<'c> {
        match place.0 {
            Place::Entry { list, at, target } => {
                self.list(list).get(at).map_or(Target::Other, target)
            }
            Place::Responded => Target::Responded,
            Place::Other => Target::Other,
        }
    }
}
