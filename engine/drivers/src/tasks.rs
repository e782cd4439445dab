//! A session's tasks as SQL statements.

use dyno_core::driver::Task;
use std::borrow::Cow;

/// The statement; `None` where a plain load needs none.
pub(crate) fn sql(task: Task<'_>) -> Option<Cow<'_, str>> {
    Some(match task {
        Task::Rollback => "ROLLBACK".into(),
        Task::Create(table) => table.create.as_str().into(),
        Task::Finish(table, number) => table.finish[number].as_str().into(),
        Task::Count(table) => format!("SELECT COUNT(*) FROM {}", table.name).into(),
        Task::BeginLoad(_) | Task::EndLoad(_) => return None,
    })
}
