//! OIDs of types. Source: `pg_type.dat`, whose OIDs PostgreSQL's manual calls stable.

/// `boolean`.
pub const BOOL: u32 = 16;
/// `"char"`.
pub const CHAR: u32 = 18;
/// `name`.
pub const NAME: u32 = 19;
/// `bigint`.
pub const INT8: u32 = 20;
/// `smallint`.
pub const INT2: u32 = 21;
/// `integer`.
pub const INT4: u32 = 23;
/// `text`.
pub const TEXT: u32 = 25;
/// `oid`.
pub const OID: u32 = 26;
/// `json`.
pub const JSON: u32 = 114;
/// `real`.
pub const FLOAT4: u32 = 700;
/// `double precision`.
pub const FLOAT8: u32 = 701;
/// `character`.
pub const BPCHAR: u32 = 1042;
/// `character varying`.
pub const VARCHAR: u32 = 1043;
/// `uuid`.
pub const UUID: u32 = 2950;
