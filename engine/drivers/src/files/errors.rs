//! Errors of the operating system, by their names in errno(3).

use dyno_core::driver::ServerError;
use std::io;

/// The errors that file operations may return.
const NAMES: &[(i32, &str)] = &[
    (libc::EACCES, "EACCES"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::EBADF, "EBADF"),
    (libc::EBUSY, "EBUSY"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EFAULT, "EFAULT"),
    (libc::EFBIG, "EFBIG"),
    (libc::EINVAL, "EINVAL"),
    (libc::EIO, "EIO"),
    (libc::EISDIR, "EISDIR"),
    (libc::EMFILE, "EMFILE"),
    (libc::ENFILE, "ENFILE"),
    (libc::ENODATA, "ENODATA"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOENT, "ENOENT"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::ENXIO, "ENXIO"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EPERM, "EPERM"),
    (libc::EREMOTEIO, "EREMOTEIO"),
    (libc::EROFS, "EROFS"),
    (libc::ESTALE, "ESTALE"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::ETXTBSY, "ETXTBSY"),
    (libc::EUCLEAN, "EUCLEAN"),
];

/// The error's name. Errors without a number: `EOF` past the end of a file, `SIGBUS` for mapped
/// memory that the file no longer backs.
pub fn code(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => NAMES
            .iter()
            .find(|(known, _)| *known == number)
            .map_or_else(|| format!("errno {number}"), |(_, name)| (*name).to_owned()),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => "SIGBUS".to_owned(),
    }
}

/// The likely cause, where one is known.
pub fn cause(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => "the disk is full: free some space",
        Some(libc::EINVAL) => {
            "with direct: true, the file system may refuse direct I/O, or want larger blocks"
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "use fewer files, or raise the limit of open files (ulimit -n)"
        }
        Some(libc::EIO) => "look at the kernel's log: the drive has failed",
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => "check who may write there",
        _ => "",
    }
}

/// The error as data of a run; `what` is the operation.
pub fn server_error(what: &str, error: &io::Error) -> Box<ServerError> {
    let message = match cause(error) {
        "" => format!("{what}: {error}"),
        cause => format!("{what}: {error}: {cause}"),
    };
    Box::new(ServerError { code: code(error), message, ..ServerError::default() })
}

/// The transaction's deadline passed before or during the operation.
pub fn deadline(what: &str) -> Box<ServerError> {
    Box::new(ServerError {
        code: "deadline".to_owned(),
        message: format!("{what}: the transaction's deadline has passed"),
        ..ServerError::default()
    })
}
