//! Operations on plain files.

use super::{Effect, ParamType};
use std::sync::Arc;

/// A set of equal files that one workload reads and writes: `NAME.0`, `NAME.1`, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSet {
    /// Prefix of their names.
    pub name: String,
    /// Number of files, at least one.
    pub files: u32,
    /// Bytes of each.
    pub file_bytes: u64,
}

/// An operation on a file of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Io {
    /// Where the file is.
    pub set: Arc<FileSet>,
    /// The operation.
    pub verb: FileVerb,
}

/// An operation on a file. The parameters of each, in order; files are numbered from 0:
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileVerb {
    /// file, offset: reads `bytes` bytes.
    Read {
        /// How many, at least one.
        bytes: u32,
    },
    /// file, offset: writes `bytes` bytes.
    Write {
        /// How many, at least one.
        bytes: u32,
    },
    /// file: makes its data and metadata durable (`fsync`).
    Sync,
    /// file: makes its data durable (`fdatasync`).
    SyncData,
}

impl Io {
    /// Whether it changes the file or its state on disk.
    pub fn effect(&self) -> Effect {
        match self.verb {
            FileVerb::Read { .. } => Effect::Read,
            FileVerb::Write { .. } | FileVerb::Sync | FileVerb::SyncData => Effect::Write,
        }
    }

    /// Types of its parameters.
    pub fn params(&self) -> Vec<ParamType> {
        match self.verb {
            FileVerb::Read { .. } | FileVerb::Write { .. } => {
                vec![ParamType::Int, ParamType::BigInt]
            }
            FileVerb::Sync | FileVerb::SyncData => vec![ParamType::Int],
        }
    }
}
