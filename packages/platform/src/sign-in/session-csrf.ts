// The token that every write in a browser's session brings along, in a form or in a header: only a page of this server knows it.

import { createHmac } from "node:crypto";

/** Follows from the session, so that it is kept nowhere. The key itself does not follow from it. */
export const csrfTokenOf = (sessionKey: string): string =>
  createHmac("sha256", sessionKey).update("csrf token of a session").digest("base64url");
