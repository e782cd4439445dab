//! Recognises administrator commands, which MySQL's slow log writes in place of statements.

/// The name of an administrator command in the format of MySQL's slow log:
/// `# administrator command: Ping`.
pub(crate) fn administrator_command(text: &[u8]) -> Option<String> {
    let text = text.trim_ascii().strip_prefix(b"# ").unwrap_or(text.trim_ascii());
    let name = text.strip_prefix(b"administrator command: ")?;
    let is_name = name.len() <= 64 && name.iter().all(|b| b.is_ascii_alphabetic() || *b == b' ');
    is_name.then(|| String::from_utf8_lossy(name).into_owned())
}
