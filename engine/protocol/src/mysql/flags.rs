//! Constants of the protocol: capabilities, status flags, commands, field types.
//!
//! Sources: MySQL client/server protocol, "Capabilities Flags", "Status Flags", "Command Phase";
//! MariaDB knowledge base, "Connection", for the extended capabilities.

/// Capability flags of both sides, lower 32 bits.
pub mod capability {
    /// Set by MySQL and cleared by MariaDB, which then has extended capabilities.
    pub const CLIENT_MYSQL: u32 = 1;
    /// Longer column flags.
    pub const LONG_FLAG: u32 = 1 << 2;
    /// The login names a schema.
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    /// The zlib protocol wraps all packets after the login.
    pub const COMPRESS: u32 = 1 << 5;
    /// The client supports LOAD DATA LOCAL.
    pub const LOCAL_FILES: u32 = 1 << 7;
    /// Protocol since 4.1.
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// TLS.
    pub const SSL: u32 = 1 << 11;
    /// Status flags in every OK.
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// 20-byte challenges.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements per request.
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    /// Several result sets per statement (procedures).
    pub const MULTI_RESULTS: u32 = 1 << 17;
    /// Several result sets per prepared statement.
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    /// The login names its authentication plug-in.
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    /// The login carries key-value attributes.
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// The login's response to the challenge is length-encoded.
    pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    /// OK packets report the session variables that a statement changed.
    pub const SESSION_TRACK: u32 = 1 << 23;
    /// No EOF packet after column definitions; rows end with an OK packet.
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    /// The zstd protocol wraps all packets after the login.
    pub const COMPRESS_ZSTD: u32 = 1 << 26;
    /// Statements have attributes.
    pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
}

/// MariaDB's extended capabilities (bits 32 and up of the full set).
pub mod extended {
    /// A prepared statement's column definitions are omitted while unchanged.
    pub const CACHE_METADATA: u32 = 1 << 4;
    /// One execution of a prepared statement may carry many rows.
    pub const STMT_BULK: u32 = 1 << 2;
}

/// Status flags in OK and EOF packets.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 0x0001;
    /// Autocommit mode.
    pub const AUTOCOMMIT: u16 = 0x0002;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 0x0008;
    /// The server keeps the rows until the client fetches them.
    pub const CURSOR: u16 = 0x0040;
    /// An OK packet reports changes of the session's state.
    pub const SESSION_CHANGED: u16 = 0x4000;
    /// A backslash in a string literal is a plain character.
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
}

/// First byte of a request.
pub mod command {
    /// Ends the connection.
    pub const QUIT: u8 = 0x01;
    /// Selects the default schema.
    pub const INIT_DB: u8 = 0x02;
    /// A statement as text.
    pub const QUERY: u8 = 0x03;
    /// Columns of a table, for old clients.
    pub const FIELD_LIST: u8 = 0x04;
    /// Server status as one line of text.
    pub const STATISTICS: u8 = 0x09;
    /// Checks that the server is alive.
    pub const PING: u8 = 0x0e;
    /// Logs in as another user.
    pub const CHANGE_USER: u8 = 0x11;
    /// Prepares a statement.
    pub const STMT_PREPARE: u8 = 0x16;
    /// Executes a prepared statement.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// Sends parameter data in pieces; no reply.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// Closes a prepared statement; no reply.
    pub const STMT_CLOSE: u8 = 0x19;
    /// Discards a prepared statement's long data and cursor.
    pub const STMT_RESET: u8 = 0x1a;
    /// Enables or disables multi-statements.
    pub const SET_OPTION: u8 = 0x1b;
    /// Fetches rows of a cursor.
    pub const STMT_FETCH: u8 = 0x1c;
    /// Resets the session to its state after the login.
    pub const RESET_CONNECTION: u8 = 0x1f;
    /// Executes a prepared statement for many rows (MariaDB).
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// Types of parameters and columns.
pub mod field_type {
    /// 8-bit integer.
    pub const TINY: u8 = 0x01;
    /// 16-bit integer.
    pub const SHORT: u8 = 0x02;
    /// 32-bit integer.
    pub const LONG: u8 = 0x03;
    /// 32-bit IEEE floating-point number.
    pub const FLOAT: u8 = 0x04;
    /// 64-bit IEEE floating-point number.
    pub const DOUBLE: u8 = 0x05;
    /// NULL only.
    pub const NULL: u8 = 0x06;
    /// Date and time.
    pub const TIMESTAMP: u8 = 0x07;
    /// 64-bit integer.
    pub const LONGLONG: u8 = 0x08;
    /// 24-bit integer, sent as 32 bits.
    pub const INT24: u8 = 0x09;
    /// Date.
    pub const DATE: u8 = 0x0a;
    /// Signed duration or time of day.
    pub const TIME: u8 = 0x0b;
    /// Date and time.
    pub const DATETIME: u8 = 0x0c;
    /// Year, sent as 16 bits.
    pub const YEAR: u8 = 0x0d;
    /// Exact number as decimal digits, length-encoded.
    pub const NEWDECIMAL: u8 = 0xf6;
    /// Bytes, length-encoded; the server does not decode characters.
    pub const BLOB: u8 = 0xfc;
    /// Character string, length-encoded.
    pub const VAR_STRING: u8 = 0xfd;
}

/// Flags of a column definition.
pub mod column_flag {
    /// Unsigned integers.
    pub const UNSIGNED: u16 = 0x0020;
    /// Numbers are padded with leading zeros.
    pub const ZEROFILL: u16 = 0x0040;
}

/// `utf8mb4_general_ci`: known to every MySQL and MariaDB since 5.5.3.
pub const COLLATION_UTF8MB4: u8 = 45;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_a_single_bit() {
        use capability::*;
        let all = [
            CLIENT_MYSQL,
            LONG_FLAG,
            CONNECT_WITH_DB,
            COMPRESS,
            LOCAL_FILES,
            PROTOCOL_41,
            SSL,
            TRANSACTIONS,
            SECURE_CONNECTION,
            MULTI_STATEMENTS,
            MULTI_RESULTS,
            PS_MULTI_RESULTS,
            PLUGIN_AUTH,
            CONNECT_ATTRS,
            PLUGIN_AUTH_LENENC,
            DEPRECATE_EOF,
            COMPRESS_ZSTD,
            QUERY_ATTRIBUTES,
        ];
        assert!(all.iter().all(|flag| flag.is_power_of_two()));
        assert_eq!(all.iter().fold(0, |seen, flag| seen ^ flag).count_ones() as usize, all.len());
    }
}
