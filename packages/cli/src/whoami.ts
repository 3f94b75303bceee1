// The caller's identity, as the platform sees it.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiClient } from "@postern/client/api-client";
import { objectAt } from "./output/json-members.ts";

/** The status of a Self. */
export async function askWhoAmI(client: ApiClient, group: string): Promise<JsonObject> {
  const self = await client.request({
    method: "POST",
    path: `/apis/${group}/v1/selves`,
    body: { apiVersion: `${group}/v1`, kind: "Self", metadata: {}, spec: {} },
  });
  return objectAt(self, "status");
}

/** Name of the access key of this command; undefined where its credential is another one, or may not ask. */
export async function keyInUse(client: ApiClient, group: string): Promise<string | undefined> {
  try {
    const { accessKey } = await askWhoAmI(client, group);
    return typeof accessKey === "string" ? accessKey : undefined;
  } catch (error) {
    if (isApiError(error, "Forbidden")) return undefined;
    throw error;
  }
}
