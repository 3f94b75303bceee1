// What both stores say of what a newer release has written.

/** A newer release wrote the store. */
export class StoreVersionError extends Error {
  override readonly name = "StoreVersionError";
}

// What a store says that may be read and not written.

/** The credentials do not let anybody write. The message says where. */
export class StoreWriteRefusedError extends Error {
  override readonly name = "StoreWriteRefusedError";
}
