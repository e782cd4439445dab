//! Built-in scripts: tests by name, and the module that they share.

/// Name and text of each script, sorted by name. Scripts that are no tests are modules.
pub static SCRIPTS: &[(&str, &str)] = &[
    ("bulk_insert", include_str!("../scripts/bulk_insert.lua")),
    ("oltp_common", include_str!("../scripts/oltp_common.lua")),
    ("oltp_delete", include_str!("../scripts/oltp_delete.lua")),
    ("oltp_insert", include_str!("../scripts/oltp_insert.lua")),
    ("oltp_point_select", include_str!("../scripts/oltp_point_select.lua")),
    ("oltp_read_only", include_str!("../scripts/oltp_read_only.lua")),
    ("oltp_read_write", include_str!("../scripts/oltp_read_write.lua")),
    ("oltp_update_index", include_str!("../scripts/oltp_update_index.lua")),
    ("oltp_update_non_index", include_str!("../scripts/oltp_update_non_index.lua")),
    ("oltp_write_only", include_str!("../scripts/oltp_write_only.lua")),
    ("select_random_points", include_str!("../scripts/select_random_points.lua")),
    ("select_random_ranges", include_str!("../scripts/select_random_ranges.lua")),
];
