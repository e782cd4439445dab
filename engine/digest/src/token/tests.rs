//! Tables of tokens.
