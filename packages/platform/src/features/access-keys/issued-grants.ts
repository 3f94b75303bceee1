// Marks writes that create keys issued by a trust rule, an identity provider or another key. Only the server can set the mark.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { KeyGrant } from "./key-grant.ts";
import type { KeyOrigin } from "./key-origins.ts";

export type IssuedGrant = {
  /** Absent: another key alone gives it. */
  readonly grant?: KeyGrant;
  /** Ancestors of the rule, and thereby of the key. */
  readonly origins: readonly KeyOrigin[];
  /** UIDs of the keys with which the rule, and thereby the key, becomes invalid. */
  readonly parents: readonly string[];
  /** For people: `status.issuedBy` of the key. */
  readonly issuedBy?: {
    readonly rule: string;
    readonly issuer: string;
    readonly subject?: string;
    readonly claims: { readonly [name: string]: string };
  };
};

export type IssuedGrants = {
  /** Runs a write that makes such a key. */
  during<T>(context: RequestContext, issued: IssuedGrant, write: () => Promise<T>): Promise<T>;
  of(context: RequestContext): IssuedGrant | undefined;
};

export function createIssuedGrants(): IssuedGrants {
  const writes = new WeakMap<RequestContext, IssuedGrant>();
  return {
    async during(context, issued, write) {
      writes.set(context, issued);
      try {
        return await write();
      } finally {
        writes.delete(context);
      }
    },
    of: (context) => writes.get(context),
  };
}
