//! InnoDB's data files, read offline: what each page is, what is free, how full the indexes are, and which
//! pages are damaged. One pass, read-only, with memory for indexes and segments alone.
//!
//! `page` parses single pages without I/O; `scan` adds the pages of one file up; `read` and `files` do the
//! I/O. Sources: the MySQL manual, "InnoDB File-Format Management", "The Physical Structure of an InnoDB
//! Index", "Sorted Index Builds"; the MariaDB manual, "InnoDB Page Flushing", `innodb_checksum_algorithm`;
//! J. Cole, "InnoDB: a journey to the core" (page, extent and inode layouts).

mod bytes;
pub mod document;
pub mod files;
pub mod page;
pub mod read;
pub mod scan;
