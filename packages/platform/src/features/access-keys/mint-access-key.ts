// The ports for creating access keys of kubeconfigs and control planes.

import type { ScopeRole } from "@postern/api/access-key-restrictions";
import type { AccessKeySpec } from "@postern/api/owned-access-key";
import type { LabelSelector } from "@postern/apimachinery/selectors/label-selector";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AccessKeyOwner } from "./access-key-owner.ts";

export type ChildKeyRequest = {
  /** The requester. */
  readonly owner: AccessKeyOwner;
  /** spec.groups: those that the asking key adds to its owner's. */
  readonly groups: readonly string[];
  readonly displayName: string;
  /** The one virtual cluster that the key opens. */
  readonly scope: { readonly project: string; readonly virtualCluster: string };
  /** The selectors of the asking key that match the virtual cluster: the new key opens it while it matches one of them. Absent: whatever its labels. */
  readonly selectors?: readonly LabelSelector[];
  /** Receivers of the key. */
  readonly audiences: readonly string[];
  /** Its name, and the thumbprint of the client certificate that it is bound to. Absent: a generated name, and none. */
  readonly bound?: { readonly name: string; readonly certificateSHA256: string };
  /** Rules that narrow the key further. */
  readonly rules?: AccessKeySpec["rules"];
  /** Seconds; undefined: as long as the key of the request. */
  readonly ttl: number | undefined;
  /** The key of the request: the parent of the new one, which becomes invalid with it. Undefined when the requester came without a key. */
  readonly parent: { readonly name: string; readonly uid: string } | undefined;
};

/** `key` is shown this once. */
export type MintedKey = {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  /** Milliseconds since the epoch; undefined when it never expires. */
  readonly expiresAt: number | undefined;
};

/** Makes the key that goes into a kubeconfig. It never expires later than its parent. */
export type MintAccessKey = (request: ChildKeyRequest, context: RequestContext) => Promise<MintedKey>;

export type ControlPlaneKeyRequest = {
  /** spec.subject: who the cluster is. */
  readonly subject: string;
  readonly displayName: string;
  readonly role: ScopeRole;
  /** The connected cluster that the key belongs to. */
  readonly cluster?: string;
};

/** Makes the key of a control plane, without an end, on the server's own account. Resolves with the key. */
export type MintControlPlaneKey = (request: ControlPlaneKeyRequest, context: RequestContext) => Promise<string>;

/** Deletes a key on the server's own account, with a record in the audit log; one that is gone already is no error. */
export type RevokeAccessKey = (name: string, signal: AbortSignal) => Promise<void>;
