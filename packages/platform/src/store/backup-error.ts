// What is wrong with a backup, or with what it is to be restored into.

/** The message is one line, complete for the person at the command line. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}
