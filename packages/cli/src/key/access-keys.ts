// The caller's access keys, for commands.

import type { AccessKeySpec, OwnedAccessKey } from "@postern/api/owned-access-key";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceAddress, type ResourceClient } from "@postern/client/resource-client";

export const accessKeysAddress = (group: string): ResourceAddress => ({
  group,
  version: "v1",
  resource: "ownedaccesskeys",
});

export const accessKeysOf = (client: ApiClient, group: string): ResourceClient<OwnedAccessKey> =>
  createResourceClient<OwnedAccessKey>(client, accessKeysAddress(group));

/** `user jane`, `team shop`, or the subject of another holder; "" without one. */
export function ownerOf({ user, team, subject }: AccessKeySpec = {}): string {
  if (user !== undefined && user !== "") return `user ${user}`;
  if (team !== undefined && team !== "") return `team ${team}`;
  return subject ?? "";
}
