//! Known names in MongoDB's commands: commands, session fields, types.

/// Fields of the session, which do not describe the command's work.
pub(super) const SESSION: &[&[u8]] = &[
    b"lsid",
    b"$clusterTime",
    b"$db",
    b"txnNumber",
    b"autocommit",
    b"startTransaction",
    b"$readPreference",
    b"signature",
    b"shardVersion",
    b"databaseVersion",
    b"clientOperationKey",
    b"mayBypassWriteBlocking",
    b"$client",
    b"$configServerState",
    b"$configTime",
    b"$topologyTime",
    b"$audit",
    b"$oplogQueryData",
    b"$replData",
    b"comment",
];

/// Commands, in lower case, whose value is the name of a collection, and the log's names of single
/// operations (`remove`). Other commands take users, code or patterns: `createUser`, `eval`,
/// `getParameter`.
const OF_COLLECTIONS: &[&[u8]] = &[
    b"aggregate",
    b"analyze",
    b"checkshardingindex",
    b"cleanuporphaned",
    b"collmod",
    b"collstats",
    b"compact",
    b"converttocapped",
    b"count",
    b"create",
    b"createindexes",
    b"createsearchindexes",
    b"datasize",
    b"delete",
    b"deleteindexes",
    b"distinct",
    b"drop",
    b"dropindexes",
    b"dropsearchindex",
    b"find",
    b"findandmodify",
    b"geosearch",
    b"insert",
    b"killcursors",
    b"listindexes",
    b"listsearchindexes",
    b"mapreduce",
    b"plancacheclear",
    b"plancacheclearfilters",
    b"plancachelistfilters",
    b"plancachesetfilter",
    b"query",
    b"reindex",
    b"remove",
    b"renamecollection",
    b"shardcollection",
    b"update",
    b"updatesearchindex",
    b"validate",
];

/// Whether the value of `command` is the name of a collection.
pub(super) fn is_of_collection(command: &[u8]) -> bool {
    OF_COLLECTIONS.iter().any(|name| name.eq_ignore_ascii_case(command))
}

/// Keys of typed values in Extended JSON: an object with one such key is a value.
pub(super) const TYPES: &[&[u8]] = &[
    b"$oid",
    b"$date",
    b"$numberLong",
    b"$numberInt",
    b"$numberDouble",
    b"$numberDecimal",
    b"$binary",
    b"$uuid",
    b"$timestamp",
    b"$regularExpression",
    b"$minKey",
    b"$maxKey",
    b"$undefined",
    b"$symbol",
    b"$code",
    b"$dbPointer",
];
