// The caller's identity, as the platform sees it.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { objectAt } from "./json-members.ts";

/** The status of a Self. */
export async function askWhoAmI(client: ApiClient, group: string): Promise<JsonObject> {
  const self = await client.request({
    method: "POST",
    path: `/apis/${group}/v1/selves`,
    body: { apiVersion: `${group}/v1`, kind: "Self", metadata: {}, spec: {} },
  });
  return objectAt(self, "status");
}
