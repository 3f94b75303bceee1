// An error of a backup, or of the target of a restore.

/** The message is one line, complete for the person at the command line. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}
