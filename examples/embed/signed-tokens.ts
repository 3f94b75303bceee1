// An authenticator of your own: tokens that contain their user, and that a secret signs. The server stores none of them.

import { createHmac, timingSafeEqual } from "node:crypto";
import { ApiError, type TokenAuthenticator } from "@postern/kubernetes";

/** Says to which authenticator a token belongs, so that others may look at the rest. */
const PREFIX = "bakery_";

type Claims = {
  readonly user: string;
  readonly groups: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expires: number;
};

const signatureOf = (secret: string, payload: string): string =>
  createHmac("sha256", secret).update(payload).digest("base64url");

export function signToken(secret: string, claims: Claims): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `${PREFIX}${payload}.${signatureOf(secret, payload)}`;
}

/** The secret signs for every user and group: keep it as one keeps the key of an authority. */
export function createSignedTokenAuthenticator(secret: string, now = () => Date.now()): TokenAuthenticator {
  return {
    authenticateToken(token) {
      if (!token.startsWith(PREFIX)) return undefined;
      const [payload = "", signature = ""] = token.slice(PREFIX.length).split(".");
      const expected = Buffer.from(signatureOf(secret, payload));
      const given = Buffer.from(signature);
      // Compared before anything of the payload is read, and in the same time wherever the first difference is.
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw refused();
      // The secret signed it, so that it has the form that `signToken` gave it.
      const { user, groups, expires } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
      if (expires <= now()) throw refused();
      return { user: { name: user, groups }, credential: { id: `signed:${user}` } };
    },
  };
}

/** Says nothing of the reason: a thief learns nothing by trying. */
const refused = (): ApiError => new ApiError({ code: 401, reason: "Unauthorized", message: "Unauthorized" });
