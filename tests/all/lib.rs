//! Has nothing but a feature: see `main.rs`.
