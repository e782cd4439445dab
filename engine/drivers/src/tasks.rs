//! A session's tasks as SQL statements.

use dyno_core::driver::Task;
use std::borrow::Cow;

/// The statement; `None` where a plain load needs none, as where the table is there already.
/// `quoted`: a name as the system's dialect has it.
pub(crate) fn sql<'a>(task: Task<'a>, quoted: fn(&str) -> String) -> Option<Cow<'a, str>> {
    Some(match task {
        Task::Rollback => "ROLLBACK".into(),
        Task::Create(table) if table.create.is_empty() => return None,
        Task::Create(table) => table.create.as_str().into(),
        Task::Finish(table, number) => table.finish[number].as_str().into(),
        Task::Count(table) => format!("SELECT COUNT(*) FROM {}", quoted(&table.name)).into(),
        Task::BeginLoad(_) | Task::EndLoad(_) => return None,
    })
}
