//! The firmware as a program for this computer, on standard input and output.

fn main() {}
