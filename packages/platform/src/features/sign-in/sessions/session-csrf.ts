// The CSRF token of a browser session, sent in a form or header with every write: only pages of this server know it.

import { createHmac } from "node:crypto";

/** Derived from the key of the session, so it is not stored. The key cannot be derived from it. */
export const csrfTokenOf = (sessionKey: string): string =>
  createHmac("sha256", sessionKey).update("csrf token of a session").digest("base64url");
