//! All orders in which things can happen.

/// Visits each order of the steps from the one at `from` on.
pub fn permutations<S>(steps: &mut [S], from: usize, visit: &mut impl FnMut(&[S])) {
    if from == steps.len() {
        return visit(steps);
    }
    for at in from..steps.len() {
        steps.swap(from, at);
        permutations(steps, from + 1, visit);
        steps.swap(from, at);
    }
}
