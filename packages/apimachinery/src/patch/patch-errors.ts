// Errors of patches: undecodable (400), or not applicable (422).

/** A body that is not a patch of its type. The message is what the client is to read, as a 400. */
export class PatchDecodeError extends Error {
  override readonly name = "PatchDecodeError";
}

/** A well-formed JSON patch that does not apply. Clients see a fixed text with 422; the message is for the log. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
}
