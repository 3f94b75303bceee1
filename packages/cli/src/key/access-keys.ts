// The caller's access keys, for commands.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceAddress, type ResourceClient } from "@postern/client/resource-client";

/** The fields of a key that commands read; all are optional. */
export type OwnedAccessKey = KubeObject & {
  readonly spec?: {
    readonly key?: string;
    readonly displayName?: string;
    readonly description?: string;
    readonly user?: string;
    readonly team?: string;
    readonly subject?: string;
    readonly type?: string;
    readonly disabled?: boolean;
    readonly scope?: JsonObject;
    readonly rules?: readonly JsonObject[];
  };
  readonly status?: { readonly lastActivity?: string; readonly expirationTimestamp?: string };
};

export const accessKeysAddress = (group: string): ResourceAddress => ({
  group,
  version: "v1",
  resource: "ownedaccesskeys",
});

export const accessKeysOf = (client: ApiClient, group: string): ResourceClient<OwnedAccessKey> =>
  createResourceClient<OwnedAccessKey>(client, accessKeysAddress(group));

/** `user jane`, `team shop`, or the subject of another holder; "" without one. */
export function ownerOf({ user, team, subject }: NonNullable<OwnedAccessKey["spec"]> = {}): string {
  if (user !== undefined && user !== "") return `user ${user}`;
  if (team !== undefined && team !== "") return `team ${team}`;
  return subject ?? "";
}
