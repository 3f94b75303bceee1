// The purpose of a sign-in, in an encrypted cookie between its steps: only this server can read or write it.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { SealedValues } from "../../foundation/encryption/sealed-value.ts";
import { cookieOf, setCookie } from "./sessions/cookies-and-origins.ts";

export type SignInPurpose =
  /** A browser session, which continues at a path. */
  | { readonly kind: "browser"; readonly next: string }
  /** The original command line, which listens on a port. */
  | { readonly kind: "original" }
  | {
      readonly kind: "loopback";
      readonly redirectUri: string;
      readonly state: string;
      readonly challenge: string;
    }
  | { readonly kind: "device"; readonly userCode: string; readonly from: string };

export type SignInTransaction = {
  readonly purpose: SignInPurpose;
  /** CSRF token for forms of this browser. */
  readonly csrf: string;
  /** Redirected to a provider. */
  readonly away?: {
    /** The key of the browser's previous session: its cookie is not sent on the return from the provider. */
    readonly earlier?: string;
    readonly provider: string;
    readonly state: string;
    readonly nonce: string;
    readonly verifier: string;
  };
  /** Signed in: finds the record with the user. */
  readonly pending?: string;
};

export type SignInTransactions = {
  read(request: ApiRequest): SignInTransaction | undefined;
  /** The Set-Cookie header. */
  write(transaction: SignInTransaction): string;
  readonly clear: string;
  /** A random string. */
  secret(): string;
};

/** Lifetime of the cookie. */
export const LIFE_SECONDS = 600;
const PURPOSE = "sign-in transaction";
const COOKIE = "sign-in";

export function createSignInTransactions(
  sealed: Pick<SealedValues, "seal" | "open">,
  clock: Clock,
  random: Random,
): SignInTransactions {
  return {
    read(request) {
      const text = sealed.open(cookieOf(request, COOKIE) ?? "", PURPOSE);
      const value = text === undefined ? undefined : parseJson(text);
      if (!isJsonObject(value) || Number(value["until"]) <= clock.now()) return undefined;
      // Only this server can encrypt it.
      return value["transaction"] as unknown as SignInTransaction;
    },
    write(transaction) {
      const until = clock.now() + LIFE_SECONDS * 1000;
      // JSON throughout; only its named type hides it.
      const text = stringifyJson({ until, transaction: transaction as unknown as JsonObject });
      // Lax: browsers send it on the return from the provider.
      return setCookie(COOKIE, sealed.seal(text, PURPOSE), { sameSite: "Lax", maxAge: LIFE_SECONDS });
    },
    clear: setCookie(COOKIE, "", { sameSite: "Lax", maxAge: 0 }),
    secret: () => Buffer.from(random.bytes(32)).toString("base64url"),
  };
}
