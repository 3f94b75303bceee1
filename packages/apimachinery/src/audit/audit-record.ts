// A record found by a search of the audit log, shared by the server, the command line and the console.

/** One request. */
export type AuditRecord = {
  /** RFC 3339. */
  readonly time: string;
  readonly key: string;
  readonly keyID: string;
  /** The ID in a value that no key has: of a deleted key, or of none. */
  readonly presentedID?: string;
  /** Names of the keys that it goes back to. */
  readonly origins: readonly string[];
  readonly user: string;
  readonly impersonatedUser?: string;
  /** The user of a request that starts a session: its `user` is not known when it arrives. */
  readonly signedInUser?: string;
  /**
   * Owner of an access key that was refused, such as `user/jane`; `user` is empty then. With a `user`: that is a name which a certificate of a virtual cluster has, and
   * a key of the owner requested the certificate.
   */
  readonly owner?: string;
  /** Empty for the management API itself. */
  readonly cluster: string;
  readonly verb: string;
  /** As kubectl writes it: `deployments.apps/name -n namespace`; of other requests the path. */
  readonly object: string;
  readonly code: number;
  /** Why the credential was refused. */
  readonly refusal?: string;
  /** The answer to a request that failed. */
  readonly message?: string;
  /** Name of the approved access request that the caller had there. */
  readonly accessRequest?: string;
  readonly sourceIP: string;
  readonly auditID: string;
};

/** Name of the access key, otherwise its ID, otherwise the ID in a value that no key has. Empty where there is none. */
export const keyOf = ({ key, keyID, presentedID = "" }: Pick<AuditRecord, "key" | "keyID" | "presentedID">): string =>
  key || keyID || presentedID;

/**
 * The user of the request; of a sign-in, the one who signed in; of a refused access key, its owner: a team as `team/shop`. A name that a virtual cluster gave out is followed
 * by the owner. Empty where none is known.
 */
export function actorOf({ user, signedInUser, owner }: Pick<AuditRecord, "user" | "signedInUser" | "owner">): string {
  if (signedInUser !== undefined) return signedInUser;
  const known = owner?.replace(/^(?:user|subject)\//, "") ?? "";
  return user === "" || known === "" ? user || known : `${user} (${known})`;
}
