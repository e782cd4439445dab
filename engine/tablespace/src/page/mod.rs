//! Single pages, parsed without I/O.

pub mod checksum;
pub mod doublewrite;
pub mod extents;
pub mod first;
pub mod header;
pub mod index;
pub mod inodes;
pub mod kinds;
pub mod layout;
pub mod space_header;
