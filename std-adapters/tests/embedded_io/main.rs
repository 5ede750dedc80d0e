//! A server on a line that is none too good, told as traces.
