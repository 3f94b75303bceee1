// Errors of both stores for data of a newer release.

/** A newer release wrote the store. */
export class StoreVersionError extends Error {
  override readonly name = "StoreVersionError";
}

/** The store can be read, but the credentials do not allow writing. The message says where. */
export class StoreWriteRefusedError extends Error {
  override readonly name = "StoreWriteRefusedError";
}
