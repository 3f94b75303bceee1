// What both stores say of what a newer release has written.

/** A newer release wrote the store. */
export class StoreVersionError extends Error {
  override readonly name = "StoreVersionError";
}
